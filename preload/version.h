/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PRELOAD_VERSION_H
#define PRELOAD_VERSION_H

#define SPANPROF_VERSION "0.1.0"

/* Says which builds understand each other's ring. */
#define SPANPROF_BUILD SPANPROF_VERSION "/ring-2"

#endif
