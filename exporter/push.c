/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes a push, by protobuf-c.
 * Runs on: the exporter's uploading thread.
 */
#include "exporter/push.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "exporter/push.pb-c.h"

int push_encode(const struct series *series, const struct push_profile *profile,
		void **body, size_t *body_bytes)
{
	Push__LabelPair pairs[SERIES_LABELS_MAX];
	Push__LabelPair *pair_pointers[SERIES_LABELS_MAX];
	Push__RawSample sample;
	Push__RawSample *sample_pointer = &sample;
	Push__RawProfileSeries raw = PUSH__RAW_PROFILE_SERIES__INIT;
	Push__RawProfileSeries *raw_pointer = &raw;
	Push__PushRequest request = PUSH__PUSH_REQUEST__INIT;

	for (size_t i = 0; i < series->count; i++) {
		push__label_pair__init(&pairs[i]);
		pairs[i].name = series->labels[i].name;
		pairs[i].value = series->labels[i].value;
		pair_pointers[i] = &pairs[i];
	}
	push__raw_sample__init(&sample);
	sample.raw_profile.data = (uint8_t *)(uintptr_t)profile->bytes;
	sample.raw_profile.len = profile->len_bytes;
	raw.n_labels = series->count;
	raw.labels = pair_pointers;
	raw.n_samples = 1;
	raw.samples = &sample_pointer;
	request.n_series = 1;
	request.series = &raw_pointer;
	*body_bytes = push__push_request__get_packed_size(&request);
	*body = malloc(*body_bytes);
	if (!*body)
		return -ENOMEM;
	push__push_request__pack(&request, *body);
	return 0;
}
