/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exporter's modesty.
 * Runs on: a child of the test program.
 */
#include "exporter/confine.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/unit.h"

static int look(void)
{
	struct rlimit core;

	confine();
	if (getrlimit(RLIMIT_CORE, &core) != 0 || core.rlim_max != 0)
		return 1;
	if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
		return 2;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return 3;
	return getpriority(PRIO_PROCESS, 0) > 0 ? 0 : 4;
}

TEST(it_leaves_no_core_and_gets_no_rights)
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(look());
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}
