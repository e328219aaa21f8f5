/* main() of a fuzz target in a plain build: gives it every file of its corpus,
 * $srcdir/tests/fuzz/corpus/NAME without the "fuzz_" of the program, or the files named as arguments.
 * An empty corpus is an error: a replay of nothing proves nothing.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
	static uint8_t buf[1 << 20];
	FILE *f = fopen(path, "rb");
	if (!f) {
		perror(path);
		return -1;
	}
	size_t n = fread(buf, 1, sizeof buf, f);
	fclose(f);
	uint8_t *exact = malloc(n ? n : 1); /* so that ASan sees a read past the end */
	memcpy(exact, buf, n);
	LLVMFuzzerTestOneInput(exact, n);
	free(exact);
	return 0;
}

int main(int argc, char **argv)
{
	const char *srcdir = getenv("srcdir"), *name = strrchr(argv[0], '/');
	char dir[512], path[1024];
	int files = 0;
	for (int i = 1; i < argc; i++)
		if (replay(argv[i]) == 0)
			files++;
	if (argc > 1)
		return files == argc - 1 ? 0 : 1;
	name = name ? name + 1 : argv[0];
	snprintf(dir, sizeof dir, "%s/tests/fuzz/corpus/%s", srcdir ? srcdir : ".", name + strlen("fuzz_"));
	DIR *d = opendir(dir);
	for (struct dirent *e; d && (e = readdir(d));) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		if (replay(path) == 0)
			files++;
	}
	if (d)
		closedir(d);
	printf("%s: %d files replayed\n", name, files);
	return files ? 0 : 1;
}
