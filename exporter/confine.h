/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPORTER_CONFINE_H
#define EXPORTER_CONFINE_H

/* Steps back before anything is parsed: low priority, first in line for the
 * out-of-memory killer, bounded memory, no core, no new privileges. What is
 * refused is left as it is. */
void confine(void);

#endif
