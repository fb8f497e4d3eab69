/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of uploads: order, bounds, losses, the end.
 * Runs on: the test program's main thread and the uploading one.
 */
#include "exporter/upload.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/unit.h"

/* A server: the statuses that it answers in turn, then 200. */
struct fake {
	_Atomic bool closed; /* it answers nothing while it is */
	int statuses[8];
	_Atomic unsigned tries;
	_Atomic unsigned explained;
	_Atomic unsigned taken;
	unsigned char order[64]; /* the first bytes of what was taken */
};

static void prepare(void *context)
{
	(void)context;
}

static void send_item(void *context, const struct upload_item *item,
		      long timeout_ms, struct http_answer *answer)
{
	struct fake *fake = context;
	unsigned try = fake->tries++;

	(void)timeout_ms;
	while (fake->closed)
		usleep(1000);
	answer->status = try < 8 ? fake->statuses[try] : 0;
	if (answer->status == 0)
		answer->status = 200;
	if (answer->status == 200)
		fake->order[fake->taken++ % 64] =
			*(const unsigned char *)item->profile;
}

static void explain(void *context, const struct http_answer *answer,
		    const char *what_now)
{
	struct fake *fake = context;

	(void)answer;
	(void)what_now;
	fake->explained++;
}

static struct upload *start(struct fake *fake)
{
	struct upload_calls calls = {prepare, send_item, explain, fake};
	struct upload *upload = upload_create(&calls);

	CHECK(upload != NULL);
	return upload;
}

static void enqueue(struct upload *upload, unsigned char first, size_t bytes)
{
	struct upload_item item = {.profile = calloc(1, bytes),
				   .profile_bytes = bytes,
				   .start_ns =
					   (uint64_t)time(NULL) * 1000000000u};

	*(unsigned char *)item.profile = first;
	upload_enqueue(upload, &item);
}

static void wait_for_tries(struct fake *fake, unsigned tries)
{
	while (fake->tries < tries)
		usleep(1000);
}

static struct upload_counts finish(struct upload *upload)
{
	struct upload_counts counts;

	CHECK(upload_finish(upload, 5000));
	counts = upload_counts(upload);
	upload_destroy(upload);
	return counts;
}

TEST(what_is_queued_is_delivered_in_order)
{
	struct fake fake = {0};
	struct upload *upload = start(&fake);
	struct upload_counts counts;

	for (unsigned char i = 0; i < 10; i++)
		enqueue(upload, i, 100);
	counts = finish(upload);
	CHECK_EQ(counts.sent, 10);
	CHECK_EQ(counts.retried, 0);
	for (unsigned char i = 0; i < 10; i++)
		CHECK_EQ(fake.order[i], i);
}

TEST(the_oldest_goes_when_16_wait)
{
	struct fake fake = {.closed = true};
	struct upload *upload = start(&fake);
	struct upload_counts counts;

	enqueue(upload, 0, 1);
	wait_for_tries(&fake, 1);
	for (unsigned char i = 1; i <= 20; i++)
		enqueue(upload, i, 1);
	fake.closed = false;
	counts = finish(upload);
	CHECK_EQ(counts.lost[UPLOAD_FULL], 4);
	CHECK_EQ(counts.sent, 17);
	CHECK_EQ(fake.order[1], 5);
	CHECK_EQ(fake.order[16], 20);
}

TEST(the_oldest_goes_when_32_mib_wait)
{
	struct fake fake = {.closed = true};
	struct upload *upload = start(&fake);
	struct upload_counts counts;

	enqueue(upload, 0, 1);
	wait_for_tries(&fake, 1);
	for (unsigned char i = 1; i <= 4; i++)
		enqueue(upload, i, UPLOAD_QUEUE_MAX_BYTES / 3);
	fake.closed = false;
	counts = finish(upload);
	CHECK_EQ(counts.lost[UPLOAD_FULL], 1);
	CHECK_EQ(fake.order[1], 2);
}

TEST(what_is_not_taken_now_is_tried_again_and_counted_once)
{
	struct fake fake = {.statuses = {503, 200, 422}};
	struct upload *upload = start(&fake);
	struct upload_counts counts;

	enqueue(upload, 1, 1);
	enqueue(upload, 2, 1);
	enqueue(upload, 3, 1);
	counts = finish(upload);
	CHECK_EQ(fake.tries, 4);
	CHECK_EQ(fake.explained, 2);
	CHECK_EQ(counts.retried, 1);
	CHECK_EQ(counts.sent, 2);
	CHECK_EQ(counts.lost[UPLOAD_REFUSED], 1);
	CHECK_EQ(fake.order[0], 1);
	CHECK_EQ(fake.order[1], 3);
}

TEST(what_is_too_old_is_not_even_tried)
{
	struct fake fake = {0};
	struct upload *upload = start(&fake);
	struct upload_item item = {malloc(1), 1, 1, 1};
	struct upload_counts counts;

	upload_enqueue(upload, &item);
	counts = finish(upload);
	CHECK_EQ(counts.lost[UPLOAD_OLD], 1);
	CHECK_EQ(fake.tries, 0);
}

/* What is left to a thread that still sends is never freed; it stays in sight
 * of the leak checker. */
static struct upload *volatile left_behind;

TEST(the_end_waits_for_no_silent_server)
{
	static struct fake fake = {.closed = true};
	struct upload *upload = start(&fake);
	struct upload_counts counts;

	for (unsigned char i = 0; i < 3; i++)
		enqueue(upload, i, 1);
	wait_for_tries(&fake, 1);
	CHECK(!upload_finish(upload, 50));
	left_behind = upload;
	counts = upload_counts(upload);
	CHECK_EQ(counts.lost[UPLOAD_END], 3);
	/* The thread counts nothing of it again. */
	fake.closed = false;
	usleep(50000);
	CHECK_EQ(upload_counts(upload).sent, 0);
}

TEST(an_end_without_anything_to_do_is_at_once)
{
	struct fake fake = {0};
	struct upload_counts counts = finish(start(&fake));

	CHECK_EQ(counts.sent, 0);
	CHECK_EQ(counts.lost[UPLOAD_END], 0);
}
