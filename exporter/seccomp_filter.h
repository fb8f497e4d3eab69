/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves a process that parses hostile files the system calls that it needs to
 * read descriptors which it has, to allocate, and to answer. The others fail
 * with EPERM: nothing new is opened, started or connected.
 */
#ifndef EXPORTER_SECCOMP_FILTER_H
#define EXPORTER_SECCOMP_FILTER_H

/* Needs no_new_privs. 0 or a negative errno. */
int seccomp_filter_install(void);

#endif
