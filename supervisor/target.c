/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at the program's file. Reads a bounded number of bytes of files that
 * the user asked to run.
 * Runs on: the supervisor.
 */
#include "supervisor/target.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LOADER "ld-linux-x86-64.so.2"

/* Linux reads 256 bytes of a script and follows five of them (fs/exec.c). */
#define LINE_BYTES 256
#define SCRIPTS_MAX 5
#define HEADERS_MAX 128
#define DYNAMIC_MAX 4096

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_program(const char *path)
{
	struct stat file;

	return stat(path, &file) == 0 && S_ISREG(file.st_mode) &&
	       access(path, X_OK) == 0;
}

/* An empty entry of PATH is the current folder. */
static bool find(char to[PATH_MAX], const char *program)
{
	const char *path = getenv("PATH");
	size_t length;

	if (strchr(program, '/')) {
		snprintf(to, PATH_MAX, "%s", program);
		return is_program(to);
	}
	for (path = path ? path : "/bin:/usr/bin";; path += length + 1) {
		length = strcspn(path, ":");
		if (length < PATH_MAX - 1 &&
		    snprintf(to, PATH_MAX, "%.*s%s%s", (int)length, path,
			     length ? "/" : "", program) < PATH_MAX &&
		    is_program(to))
			return true;
		if (!path[length])
			return false;
	}
}

/* As the kernel decides whether the new program is to be protected from its
 * caller's environment (security/commoncap.c). */
static enum target_obstacle privileges(int fd, const struct stat *file)
{
	const mode_t group = S_ISGID | S_IXGRP;
	struct statvfs system;

	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
	    (fstatvfs(fd, &system) == 0 && system.f_flag & ST_NOSUID))
		return TARGET_FINE;
	if ((file->st_mode & S_ISUID && file->st_uid != getuid()) ||
	    ((file->st_mode & group) == group && file->st_gid != getgid()))
		return TARGET_SET_ID;
	if (getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0)
		return TARGET_CAPABILITIES;
	return TARGET_FINE;
}

static bool read_loader(int fd, const Elf64_Phdr *header, char to[256])
{
	size_t length = header->p_filesz;

	if (length >= 256 ||
	    pread(fd, to, length, (off_t)header->p_offset) != (ssize_t)length)
		length = 0;
	to[length] = '\0';
	return length > 0;
}

/* The program header of a type. */
static bool find_header(int fd, const Elf64_Ehdr *elf, uint32_t type,
			Elf64_Phdr *header)
{
	for (unsigned i = 0; i < elf->e_phnum && i < HEADERS_MAX; i++) {
		off_t at = (off_t)(elf->e_phoff + i * sizeof(*header));

		if (pread(fd, header, sizeof(*header), at) != sizeof(*header))
			return false;
		if (header->p_type == type)
			return true;
	}
	return false;
}

/* Go's programs may have a loader and yet no library: they take the registers
 * and signals of their threads for themselves. */
static bool needs_libraries(int fd, const Elf64_Ehdr *elf)
{
	Elf64_Phdr header;
	Elf64_Dyn entry;

	if (!find_header(fd, elf, PT_DYNAMIC, &header))
		return false;
	for (unsigned i = 0; i < DYNAMIC_MAX; i++) {
		off_t at = (off_t)(header.p_offset + i * sizeof(entry));

		if (pread(fd, &entry, sizeof(entry), at) != sizeof(entry) ||
		    entry.d_tag == DT_NULL)
			return false;
		if (entry.d_tag == DT_NEEDED)
			return true;
	}
	return false;
}

/* Compatible ones carry the name of glibc's and are links to musl's. */
static bool is_glibc(const char *loader)
{
	char real[PATH_MAX];

	if (strcmp(base_name(loader), LOADER) != 0)
		return false;
	return !realpath(loader, real) ||
	       (!strstr(real, "musl") && !strstr(real, "gcompat"));
}

static enum target_obstacle look_at_elf(struct target *target, int fd,
					const Elf64_Ehdr *elf)
{
	Elf64_Phdr header;

	if (elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_machine != EM_X86_64)
		return TARGET_MACHINE;
	if (!find_header(fd, elf, PT_INTERP, &header) ||
	    !read_loader(fd, &header, target->loader))
		/* The loader may be called as a program, too. */
		return strcmp(base_name(target->file), LOADER) == 0
			       ? TARGET_FINE
			       : TARGET_STATIC;
	if (access(target->loader, F_OK) != 0)
		memcpy(target->missing, target->loader, sizeof(target->loader));
	if (!is_glibc(target->loader))
		return TARGET_LIBC;
	return needs_libraries(fd, elf) ? TARGET_FINE : TARGET_NO_LIBC;
}

/* Makes the file that the script names the next one to be looked at. execvp
 * runs a file without a #! line by the shell. */
static void follow_script(struct target *target, const char *line)
{
	size_t length = 0;

	if (line[0] == '#' && line[1] == '!') {
		line += 2 + strspn(line + 2, " \t");
		length = strcspn(line, " \t\n");
	}
	if (!length) {
		line = "/bin/sh";
		length = strlen(line);
	}
	snprintf(target->file, PATH_MAX, "%.*s", (int)length, line);
}

/* Returns whether there is a next file to be looked at. */
static bool look_at_file(struct target *target)
{
	union {
		Elf64_Ehdr elf;
		char line[LINE_BYTES + 1];
	} head;
	int fd = open(target->file,
		      O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat file;
	bool script = false;
	ssize_t got;

	if (fd < 0 || fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	got = pread(fd, head.line, LINE_BYTES, 0);
	head.line[got < 0 ? 0 : got] = '\0';
	if (got >= (ssize_t)sizeof(Elf32_Ehdr) &&
	    memcmp(head.line, ELFMAG, SELFMAG) == 0) {
		target->obstacle = look_at_elf(target, fd, &head.elf);
		if (target->obstacle == TARGET_FINE)
			target->obstacle = privileges(fd, &file);
	} else if (got >= 0) {
		script = true;
		follow_script(target, head.line);
	}
	close(fd);
	return script;
}

void target_look(struct target *target, const char *program)
{
	memset(target, 0, sizeof(*target));
	if (!find(target->file, program)) {
		target->file[0] = '\0';
		return;
	}
	for (int i = 0; i < SCRIPTS_MAX && look_at_file(target); i++) {
		if (is_program(target->file))
			continue;
		memcpy(target->missing, target->file, PATH_MAX);
		target->file[0] = '\0';
		return;
	}
}

bool target_refuses_preload(const struct target *target)
{
	return target->obstacle == TARGET_MACHINE ||
	       target->obstacle == TARGET_LIBC ||
	       target->obstacle == TARGET_NO_LIBC;
}
