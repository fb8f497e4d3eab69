/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an exporter leaves in the ring for the one that comes after it, if it is
 * killed; and how that one takes over.
 */
#ifndef EXPORTER_SUCCESSION_H
#define EXPORTER_SUCCESSION_H

struct recorder;

/* The exporter begins: in the place of a dead one, if there was one. Its window
 * goes on, and is to be written first. */
void succession_begin(struct recorder *recorder);

/* A window is about to go out: what it tells, and what the next one begins
 * with. Not within a pass, whose records can't be told apart by where they lie:
 * such a pass ends with a window of its own. */
void succession_note(struct recorder *recorder);

/* It is out: its records are no longer kept in the ring. */
void succession_window_out(struct recorder *recorder);

#endif
