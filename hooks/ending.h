/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notices when the program is told to end: its own handlers of SIGTERM, SIGINT
 * and SIGQUIT are called by way of one of ours, which leaves a note in the
 * ring. Where the program is an init, the exporter dies with it, and the
 * SIGKILL of docker stop comes ten seconds after the SIGTERM.
 *
 * A program that takes them by signalfd or sigwait, or sets its handlers by a
 * system call, is not noticed.
 */
#ifndef HOOKS_ENDING_H
#define HOOKS_ENDING_H

/*
 * The program sets a handler, or something else that sa_handler may be, or asks
 * only (`handler` is NULL, which is SIG_DFL, and nothing is set by it). Returns
 * what to give to the kernel, and in `before` the program's last handler.
 */
void *ending_set_app(int number, void *handler, void **before);

/* What the program gets to read where the kernel said `shown`. */
void *ending_show_app(void *shown, void *before);

#endif
