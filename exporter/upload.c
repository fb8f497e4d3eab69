/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues uploads and makes them.
 * Runs on: a thread of its own; the queue is filled by the exporter's main
 * thread.
 */
#include "exporter/upload.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "exporter/clock.h"
#include "exporter/retry.h"

#define MS_NS UINT64_C(1000000)

struct upload {
	struct upload_calls calls;
	pthread_t thread;
	pthread_mutex_t upload_lock; /* of all that follows */
	pthread_cond_t changed;
	struct upload_item queue[UPLOAD_QUEUE_MAX]; /* oldest first */
	unsigned count;
	size_t bytes;
	bool in_hand;     /* the thread has an item */
	bool abandoned;   /* the end waits no longer */
	bool ended;       /* the thread has */
	uint64_t last_ns; /* when to end, CLOCK_MONOTONIC; 0: not yet */
	struct upload_counts counts;
};

/* Waits for a change; returns false when the time is over. */
static bool wait_until_locked(struct upload *upload, uint64_t time_ns)
{
	struct timespec until = {(time_t)(time_ns / 1000000000u),
				 (long)(time_ns % 1000000000u)};

	return pthread_cond_timedwait(&upload->changed, &upload->upload_lock,
				      &until) != ETIMEDOUT;
}

static struct upload_item shift_locked(struct upload *upload)
{
	struct upload_item item = upload->queue[0];

	upload->count--;
	upload->bytes -= item.profile_bytes;
	memmove(upload->queue, upload->queue + 1,
		upload->count * sizeof(upload->queue[0]));
	return item;
}

static void drop_oldest_locked(struct upload *upload, enum upload_loss why)
{
	struct upload_item item = shift_locked(upload);

	free(item.profile);
	upload->counts.lost[why]++;
}

static long left_ms_locked(const struct upload *upload)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	long left;

	if (!upload->last_ns)
		return UPLOAD_TIMEOUT_MS;
	if (now >= upload->last_ns)
		return 0;
	left = (long)((upload->last_ns - now) / MS_NS);
	return left < UPLOAD_TIMEOUT_MS ? left : UPLOAD_TIMEOUT_MS;
}

static long left_ms(struct upload *upload)
{
	long left;

	pthread_mutex_lock(&upload->upload_lock);
	left = left_ms_locked(upload);
	pthread_mutex_unlock(&upload->upload_lock);
	return left;
}

/* Waits for the next attempt. Returns false when the end comes before it. */
static bool pause_for(struct upload *upload, uint64_t delay_ns)
{
	uint64_t then = now_ns(CLOCK_MONOTONIC) + delay_ns;
	bool ends = false;

	pthread_mutex_lock(&upload->upload_lock);
	while (!ends && now_ns(CLOCK_MONOTONIC) < then) {
		ends = upload->last_ns && then >= upload->last_ns;
		if (!ends)
			wait_until_locked(upload, then);
	}
	pthread_mutex_unlock(&upload->upload_lock);
	return !ends;
}

static uint64_t age_of(const struct upload_item *item)
{
	uint64_t now = now_ns(CLOCK_REALTIME);

	return now > item->start_ns ? now - item->start_ns : 0;
}

static enum retry_verdict attempt(struct upload *upload,
				  const struct upload_item *item,
				  unsigned tries, uint64_t *delay_ns)
{
	struct http_answer answer = {0};
	struct retry_attempt made = {.tries = tries};
	enum retry_verdict verdict;

	upload->calls.send(upload->calls.context, item, left_ms(upload),
			   &answer);
	made.status = answer.status;
	made.age_ns = age_of(item);
	made.after_ns = retry_after_ns(answer.retry_after, time(NULL));
	if (getrandom(&made.chance, sizeof(made.chance), GRND_NONBLOCK) < 0)
		made.chance = (uint32_t)now_ns(CLOCK_MONOTONIC);
	verdict = retry_decide(&made, delay_ns);
	if (verdict != RETRY_DONE)
		upload->calls.explain(upload->calls.context, &answer,
				      verdict == RETRY_AGAIN
					      ? "will be tried again"
					      : "the profile is dropped");
	return verdict;
}

static void count_locked(struct upload *upload, enum retry_verdict verdict)
{
	static const enum upload_loss losses[] = {
		[RETRY_AGAIN] = UPLOAD_END, /* there was no other time */
		[RETRY_REFUSED] = UPLOAD_REFUSED,
		[RETRY_TIRED] = UPLOAD_TIRED,
		[RETRY_OLD] = UPLOAD_OLD,
	};

	if (upload->abandoned)
		return; /* counted already */
	if (verdict == RETRY_DONE)
		upload->counts.sent++;
	else
		upload->counts.lost[losses[verdict]]++;
}

static void deliver(struct upload *upload, struct upload_item *item)
{
	enum retry_verdict verdict;
	unsigned tries = 1;
	uint64_t delay_ns;

	for (;; tries++) {
		if (age_of(item) > RETRY_OLDEST_NS) {
			verdict = RETRY_OLD;
			break;
		}
		verdict = attempt(upload, item, tries, &delay_ns);
		if (verdict != RETRY_AGAIN || !pause_for(upload, delay_ns))
			break;
		pthread_mutex_lock(&upload->upload_lock);
		upload->counts.retried++;
		pthread_mutex_unlock(&upload->upload_lock);
	}
	free(item->profile);
	pthread_mutex_lock(&upload->upload_lock);
	count_locked(upload, verdict);
	upload->in_hand = false;
	pthread_cond_broadcast(&upload->changed);
	pthread_mutex_unlock(&upload->upload_lock);
}

/* Returns false when there is nothing more to do. */
static bool next_item(struct upload *upload, struct upload_item *item)
{
	bool found;

	pthread_mutex_lock(&upload->upload_lock);
	while (!upload->count && !upload->last_ns)
		pthread_cond_wait(&upload->changed, &upload->upload_lock);
	found = upload->count && left_ms_locked(upload) > 0;
	if (found)
		*item = shift_locked(upload);
	upload->in_hand = found;
	pthread_mutex_unlock(&upload->upload_lock);
	return found;
}

static void *run(void *context)
{
	struct upload *upload = context;
	struct upload_item item;

	upload->calls.prepare(upload->calls.context);
	while (next_item(upload, &item)) {
		/* At the end the profile itself is what matters. */
		if (left_ms(upload) == UPLOAD_TIMEOUT_MS)
			upload->calls.prepare(upload->calls.context);
		deliver(upload, &item);
	}
	pthread_mutex_lock(&upload->upload_lock);
	upload->ended = true;
	pthread_cond_broadcast(&upload->changed);
	pthread_mutex_unlock(&upload->upload_lock);
	return NULL;
}

struct upload *upload_create(const struct upload_calls *calls)
{
	struct upload *upload = calloc(1, sizeof(*upload));
	pthread_condattr_t monotonic;

	if (!upload)
		return NULL;
	upload->calls = *calls;
	pthread_mutex_init(&upload->upload_lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&upload->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (pthread_create(&upload->thread, NULL, run, upload) == 0)
		return upload;
	free(upload);
	return NULL;
}

void upload_enqueue(struct upload *upload, const struct upload_item *item)
{
	pthread_mutex_lock(&upload->upload_lock);
	while (upload->count == UPLOAD_QUEUE_MAX ||
	       (upload->count &&
		upload->bytes + item->profile_bytes > UPLOAD_QUEUE_MAX_BYTES))
		drop_oldest_locked(upload, UPLOAD_FULL);
	upload->queue[upload->count++] = *item;
	upload->bytes += item->profile_bytes;
	pthread_cond_broadcast(&upload->changed);
	pthread_mutex_unlock(&upload->upload_lock);
}

struct upload_counts upload_counts(struct upload *upload)
{
	struct upload_counts counts;

	pthread_mutex_lock(&upload->upload_lock);
	counts = upload->counts;
	pthread_mutex_unlock(&upload->upload_lock);
	return counts;
}

bool upload_finish(struct upload *upload, long timeout_ms)
{
	bool ended;

	pthread_mutex_lock(&upload->upload_lock);
	upload->last_ns =
		now_ns(CLOCK_MONOTONIC) + (uint64_t)timeout_ms * MS_NS;
	pthread_cond_broadcast(&upload->changed);
	while (!upload->ended && wait_until_locked(upload, upload->last_ns))
		;
	/* The thread that found no time left is a moment from its end. */
	if (!upload->ended && !upload->in_hand)
		wait_until_locked(upload, upload->last_ns + 100 * MS_NS);
	while (upload->count)
		drop_oldest_locked(upload, UPLOAD_END);
	upload->counts.lost[UPLOAD_END] += upload->in_hand;
	upload->abandoned = true;
	ended = upload->ended;
	pthread_mutex_unlock(&upload->upload_lock);
	if (ended)
		pthread_join(upload->thread, NULL);
	return ended;
}

void upload_destroy(struct upload *upload)
{
	pthread_cond_destroy(&upload->changed);
	pthread_mutex_destroy(&upload->upload_lock);
	free(upload);
}
