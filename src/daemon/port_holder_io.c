#include "src/daemon/port_holder_io.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static unsigned long listening_inode(const char *file, uint16_t port)
{
	enum { TCP_STATE_LISTEN = 0x0a };
	char line[512];
	unsigned long inode = 0;
	FILE *f = fopen(file, "re");
	while (f && !inode && fgets(line, sizeof line, f)) {
		unsigned local_port, state;
		unsigned long found;
		/* sl local:port remote:port st queues timer retransmits uid timeout inode */
		if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*s %*s %lu", &local_port, &state,
			   &found) == 3 &&
		    local_port == port && state == TCP_STATE_LISTEN)
			inode = found;
	}
	if (f)
		fclose(f);
	return inode;
}

static bool has_socket(const char *pid, unsigned long inode)
{
	char dir[300], path[600], target[64], wanted[64];
	snprintf(dir, sizeof dir, "/proc/%s/fd", pid);
	snprintf(wanted, sizeof wanted, "socket:[%lu]", inode);
	DIR *d = opendir(dir);
	bool found = false;
	for (struct dirent *e; d && !found && (e = readdir(d));) {
		snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		ssize_t n = readlink(path, target, sizeof target - 1);
		target[n > 0 ? n : 0] = '\0';
		found = strcmp(target, wanted) == 0;
	}
	if (d)
		closedir(d);
	return found;
}

bool port_holder(uint16_t port, char *buf, size_t cap)
{
	unsigned long inode = listening_inode("/proc/net/tcp", port);
	if (!inode)
		inode = listening_inode("/proc/net/tcp6", port);
	DIR *d = inode ? opendir("/proc") : NULL;
	bool found = false;
	for (struct dirent *e; d && !found && (e = readdir(d));) {
		char path[300], comm[64] = "?";
		if (!isdigit((unsigned char)e->d_name[0]) || !has_socket(e->d_name, inode))
			continue;
		snprintf(path, sizeof path, "/proc/%s/comm", e->d_name);
		FILE *f = fopen(path, "re");
		if (f && fgets(comm, sizeof comm, f))
			comm[strcspn(comm, "\n")] = '\0';
		if (f)
			fclose(f);
		snprintf(buf, cap, "%s (pid %s)", comm, e->d_name);
		found = true;
	}
	if (d)
		closedir(d);
	return found;
}
