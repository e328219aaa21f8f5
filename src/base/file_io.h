/* Files and directories. Replacing a file as a whole: whoever reads it, also after a power cut, finds the old content or the new one. */
#pragma once

/* Writes text beside path (path.new), and puts it in its place when it is on the disk. 0, or -errno and nothing is
 * different. */
int file_replace(const char *path, const char *text);
/* The directory and its parents, those that are not there. 0, or -errno. */
int file_make_dirs(const char *path);
