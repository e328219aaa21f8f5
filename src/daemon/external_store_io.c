#include "src/daemon/external_store_io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/file_io.h"
#include "src/base/log_io.h"
#include "src/base/name.h"

static const char suffix[] = ".routes";

enum { FILE_MAX = 16 << 20 };

static int path_of(char path[PATH_MAX], const char *dir, const char *name)
{
	return snprintf(path, PATH_MAX, "%s/%s%s", dir, name, suffix) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int external_store_write(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX];
	int error = path_of(path, dir, name);
	if (error)
		return error;
	if (!text)
		return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
	error = file_make_dirs(dir); /* whoever cleans up may have taken it */
	return error ? error : file_replace(path, text);
}

/* Without waiting for anyone, as a named pipe would. NULL with errno. */
static FILE *open_to_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	if (fd >= 0 && !f)
		close(fd);
	return f;
}

/* NULL with errno. */
static char *read_whole(const char *path)
{
	struct stat st;
	FILE *f = open_to_read(path);
	if (!f)
		return NULL;
	size_t size = fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode) && st.st_size < FILE_MAX ? (size_t)st.st_size : 0;
	char *text = calloc(1, size + 1);
	if (!text)
		abort();
	errno = 0;
	if (fread(text, 1, size, f) < size) {
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}

/* For whoever wants to look; the name is not read again. */
static void set_aside(const char *path, const char *why)
{
	char aside[PATH_MAX];
	snprintf(aside, sizeof aside, "%.4000s.damaged", path);
	bool moved = rename(path, aside) == 0;
	log_error("external", "%s: %s: its routes are not told; the file is %s%s", path, why, moved ? "kept as " : "still there",
		  moved ? aside : "");
}

static void read_one(const char *dir, const char *name, external_store_fn *take, void *arg)
{
	char path[PATH_MAX], why[320];
	if (path_of(path, dir, name))
		return;
	char *text = read_whole(path);
	if (!text)
		log_error("external", "%s: %s: its routes are not told", path, errno ? strerror(errno) : "it is being written");
	else if (!take(arg, name, text, why, sizeof why))
		set_aside(path, why);
	free(text);
}

/* "metallb.routes" -> "metallb" in name. */
static bool is_routes(const char *file, char name[NAME_LEN_MAX + 1])
{
	size_t len = strlen(file), end = strlen(suffix);
	if (len <= end || len - end > NAME_LEN_MAX || strcmp(file + len - end, suffix) != 0)
		return false;
	memcpy(name, file, len - end);
	name[len - end] = '\0';
	return name_ok(name);
}

void external_store_read(const char *dir, external_store_fn *take, void *arg)
{
	char name[NAME_LEN_MAX + 1];
	DIR *d = opendir(dir);
	if (!d) {
		if (errno != ENOENT)
			log_error("external", "%s: %s: routes that were handed over are not told", dir, strerror(errno));
		return;
	}
	for (struct dirent *e; (e = readdir(d)) != NULL;)
		if (is_routes(e->d_name, name))
			read_one(dir, name, take, arg);
	closedir(d);
}
