/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges the settings before anything runs.
 */
#ifndef SUPERVISOR_SETTINGS_H
#define SUPERVISOR_SETTINGS_H

#include <stdbool.h>

struct config;
struct options;

/*
 * Reads the configuration. What was given on the command line and makes no
 * sense is refused: false, once the person was told what, why and what to do.
 * The environment may hold what it likes: the person is told, the default
 * holds.
 */
bool settings_read(struct config *config, const struct options *options);

#endif
