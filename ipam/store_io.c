#include "ipam/store_io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/base/err.h"

/* The databases. Keys and values:
 *   meta    "format" -> one byte, FORMAT
 *   leases  ipam_lease_key() -> ipam_lease_encode()
 *   addrs   16 bytes of address -> 'L' + the owner's key, or 'F' + freed_at (8 bytes, big-endian)
 *   freed   freed_at (8 bytes, big-endian: the order is by time) + address -> one byte
 *   ranges  address and length of a CIDR -> how many of its addresses were ever given (8, big-endian)
 */
enum db { DB_META, DB_LEASES, DB_ADDRS, DB_FREED, DB_RANGES, DBS };
static const char *const db_names[DBS] = {"meta", "leases", "addrs", "freed", "ranges"};

enum {
	FORMAT = 1,
	READERS = 512,
	LOCK_FILE_BYTES = 64 << 10, /* room for READERS slots */
	STATE_LEASED = 'L',
	STATE_FREED = 'F',
	STAMP = 8,
	LOCK_POLL_MS = 2,
	WORKERS_WAIT_MS = 10000,
};
static const size_t map_bytes = (size_t)256 << 20; /* address space; the file grows as needed */

struct ipam_store {
	MDB_env *env;
	MDB_dbi db[DBS];
	int lock_fd; /* DIR/owners: flock() around open and close, byte locks for owners */
	char *dir;
};

static bool has_memory(void)
{
	void *p = mmap(NULL, map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return false;
	munmap(p, map_bytes);
	return true;
}

/* Numbers in the file say how much is mapped, allocated and written where; bent ones ask for what nobody has. */
static int map_error(int rc)
{
	switch (rc) {
	case MDB_SUCCESS:
		return 0;
	case MDB_NOTFOUND:
		return ERR_NOT_FOUND;
	case MDB_READERS_FULL:
		return -EAGAIN;
	case EFBIG:
	case EINVAL:
		return ERR_CORRUPT;
	case ENOMEM:
		return has_memory() ? ERR_CORRUPT : -ENOMEM;
	default:
		return rc > 0 ? -rc : ERR_CORRUPT; /* MDB_MAP_FULL too: no node has so many pods */
	}
}

static void put_be64(uint8_t out[STAMP], uint64_t v)
{
	for (unsigned i = 0; i < STAMP; i++)
		out[i] = (uint8_t)(v >> (56 - 8 * i));
}

static uint64_t get_be64(const uint8_t *p)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < STAMP; i++)
		v = v << 8 | p[i];
	return v;
}

static MDB_val val(const void *p, size_t n)
{
	return (MDB_val){.mv_size = n, .mv_data = (void *)(uintptr_t)p};
}

/* --- byte locks */

static int set_bytes(struct ipam_store *s, short type, off_t start, off_t len)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = len};
	/* belongs to the open file, so it goes with the process, however that ends */
	return fcntl(s->lock_fd, F_OFD_SETLK, &lock) < 0 ? -errno : 0;
}

/* len 0: all of them from start on. -EAGAIN after wait_ms. */
static int lock_bytes(struct ipam_store *s, off_t start, off_t len, int64_t wait_ms)
{
	struct timespec pause = {.tv_nsec = LOCK_POLL_MS * 1000000L};
	int err;
	while ((err = set_bytes(s, F_WRLCK, start, len)) != 0) {
		if (err != -EAGAIN && err != -EACCES && err != -EINTR)
			return err;
		if (wait_ms <= 0)
			return -EAGAIN;
		nanosleep(&pause, NULL);
		wait_ms -= LOCK_POLL_MS;
	}
	return 0;
}

static void unlock_bytes(struct ipam_store *s, off_t start, off_t len)
{
	set_bytes(s, F_UNLCK, start, len);
}

/* --- opening */

/* The lock file is mapped: a page of it that the file system cannot provide would be a SIGBUS later, so
 * it gets all its bytes now. */
static int reserve_lock_file(const char *dir)
{
	char path[PATH_MAX];
	struct stat st;
	snprintf(path, sizeof path, "%s/lock.mdb", dir);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int err = 0;
	if (fstat(fd, &st) == 0 && st.st_size < LOCK_FILE_BYTES)
		err = -posix_fallocate(fd, 0, LOCK_FILE_BYTES);
	close(fd);
	return err;
}

/* A data file that was cut short maps, and then faults where it is read. */
static int check_size(MDB_env *env)
{
	MDB_envinfo info;
	MDB_stat st;
	struct stat file;
	int fd;
	if (mdb_env_info(env, &info) || mdb_env_stat(env, &st) || mdb_env_get_fd(env, &fd) || fstat(fd, &file) < 0)
		return ERR_CORRUPT;
	return (uint64_t)file.st_size < (info.me_last_pgno + 1) * (uint64_t)st.ms_psize ? ERR_CORRUPT : 0;
}

static int open_databases(struct ipam_store *s, MDB_txn *txn, unsigned flags)
{
	for (int i = 0; i < DBS; i++) {
		int rc = mdb_dbi_open(txn, db_names[i], flags, &s->db[i]);
		if (rc)
			return rc == MDB_INCOMPATIBLE ? ERR_CORRUPT : map_error(rc);
	}
	return 0;
}

static int check_format(struct ipam_store *s, MDB_txn *txn)
{
	MDB_val key = val("format", 6), v;
	int err = map_error(mdb_get(txn, s->db[DB_META], &key, &v));
	if (err)
		return err == ERR_NOT_FOUND ? ERR_CORRUPT : err;
	if (v.mv_size != 1)
		return ERR_CORRUPT;
	return *(const uint8_t *)v.mv_data == FORMAT ? 0 : ERR_UNSUPPORTED;
}

/* An environment with databases of other names in it is somebody else's. */
static int make_databases(struct ipam_store *s, MDB_txn *txn)
{
	MDB_dbi root;
	MDB_stat st;
	uint8_t format = FORMAT;
	MDB_val key = val("format", 6), v = val(&format, 1);
	int rc = mdb_dbi_open(txn, NULL, 0, &root);
	if (!rc)
		rc = mdb_stat(txn, root, &st);
	if (rc)
		return map_error(rc);
	/* another process may have been faster */
	int err = open_databases(s, txn, 0);
	if (!err)
		return check_format(s, txn);
	if (st.ms_entries)
		return ERR_CORRUPT;
	err = open_databases(s, txn, MDB_CREATE);
	return err ? err : map_error(mdb_put(txn, s->db[DB_META], &key, &v, 0));
}

static int finish(MDB_txn *txn, int err)
{
	if (!err)
		return map_error(mdb_txn_commit(txn));
	mdb_txn_abort(txn);
	return err;
}

static int begin(struct ipam_store *s, unsigned flags, MDB_txn **txn)
{
	int rc = mdb_txn_begin(s->env, NULL, flags, txn);
	int dead;
	if (rc == MDB_READERS_FULL && mdb_reader_check(s->env, &dead) == 0 && dead)
		rc = mdb_txn_begin(s->env, NULL, flags, txn);
	return map_error(rc);
}

static int prepare_databases(struct ipam_store *s)
{
	MDB_txn *txn;
	int err = begin(s, MDB_RDONLY, &txn);
	if (err)
		return err;
	/* the usual case: all are there, and nobody's writing is waited for */
	err = open_databases(s, txn, 0);
	if (!err)
		err = check_format(s, txn);
	err = finish(txn, err);
	if (err != ERR_NOT_FOUND)
		return err;
	err = begin(s, 0, &txn);
	return err ? err : finish(txn, make_databases(s, txn));
}

static int open_files(struct ipam_store *s, const char *dir)
{
	int err = reserve_lock_file(dir), dead;
	if (err)
		return err;
	int rc = mdb_env_create(&s->env);
	if (rc)
		return map_error(rc);
	mdb_env_set_mapsize(s->env, map_bytes);
	mdb_env_set_maxdbs(s->env, DBS);
	mdb_env_set_maxreaders(s->env, READERS);
	err = map_error(mdb_env_open(s->env, dir, MDB_NOTLS, 0600));
	if (!err)
		err = check_size(s->env);
	if (err)
		return err;
	mdb_reader_check(s->env, &dead); /* slots of the killed would hold old pages for ever */
	return prepare_databases(s);
}

static void path_of(const struct ipam_store *s, const char *name, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s", s->dir, name);
}

static bool is_fresh(const struct ipam_store *s)
{
	char path[PATH_MAX];
	struct stat st;
	path_of(s, "data.mdb", path);
	return stat(path, &st) < 0 ? errno == ENOENT : st.st_size == 0;
}

static void remove_data(const struct ipam_store *s)
{
	char path[PATH_MAX];
	path_of(s, "data.mdb", path);
	unlink(path);
}

static void close_environment(struct ipam_store *s)
{
	if (s->env)
		mdb_env_close(s->env);
	s->env = NULL;
}

/* A store that could not be made whole (a full disk) must not stand there as a damaged one. Nobody else can have it
 * open: the caller holds the lock under which stores are made. */
static int open_environment(struct ipam_store *s)
{
	bool fresh = is_fresh(s);
	int err = open_files(s, s->dir);
	if (err)
		close_environment(s);
	if (err && fresh)
		remove_data(s);
	return err;
}

static int open_lock(struct ipam_store *s, bool create)
{
	char path[PATH_MAX];
	struct stat st;
	if (create && mkdir(s->dir, 0700) < 0 && errno != EEXIST)
		return -errno;
	path_of(s, "data.mdb", path);
	if (!create && stat(path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : -errno;
	path_of(s, "owners", path);
	s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	return s->lock_fd < 0 ? -errno : 0;
}

static bool is_marked(const struct ipam_store *s)
{
	char path[PATH_MAX];
	path_of(s, IPAM_DAMAGE_MARK, path);
	return access(path, F_OK) == 0;
}

/* The last one that was set aside is enough. The lock file goes too: it knows the readers of the old one. */
static int set_files_aside(const struct ipam_store *s, bool fresh)
{
	char path[PATH_MAX], aside[PATH_MAX];
	path_of(s, "data.mdb", path);
	path_of(s, "data.mdb.damaged", aside);
	if (!fresh && rename(path, aside) < 0)
		return -errno;
	path_of(s, "lock.mdb", path);
	unlink(path);
	return 0;
}

static int set_mark(const struct ipam_store *s)
{
	char path[PATH_MAX];
	path_of(s, IPAM_DAMAGE_MARK, path);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	return fd < 0 || close(fd) < 0 ? -errno : 0;
}

static int clear_mark(const struct ipam_store *s)
{
	char path[PATH_MAX];
	path_of(s, IPAM_DAMAGE_MARK, path);
	return unlink(path) < 0 ? -errno : 0;
}

/* Marked as damaged until all is in it: whoever fills it may be killed. */
static int make_anew(struct ipam_store *s, const struct ipam_fill *fill)
{
	int err = set_mark(s);
	if (!err)
		err = open_environment(s);
	if (!err)
		err = fill->fn(fill->arg, s);
	if (!err)
		err = clear_mark(s);
	if (err) {
		close_environment(s);
		remove_data(s); /* half filled is worse than missing */
	}
	return err;
}

/* Whoever holds an owner's lock may be writing to what is about to be set aside. */
static int open_or_make(struct ipam_store *s, const struct ipam_fill *fill, bool *set_aside)
{
	bool fresh = is_fresh(s);
	int err = fresh ? 0 : is_marked(s) ? ERR_CORRUPT : open_environment(s);
	if (!fresh && err != ERR_CORRUPT && err != ERR_UNSUPPORTED)
		return err;
	err = lock_bytes(s, 0, 0, WORKERS_WAIT_MS);
	if (!err)
		err = set_files_aside(s, fresh);
	*set_aside = !err && !fresh;
	if (!err)
		err = make_anew(s, fill);
	unlock_bytes(s, 0, 0);
	return err;
}

static int open_under_lock(struct ipam_store *s, bool create, const struct ipam_fill *fill, bool *set_aside)
{
	int err = open_lock(s, create);
	/* some LMDB versions destroy the shared mutexes when the last user closes, which must not happen
	 * while the next one opens */
	if (!err && flock(s->lock_fd, LOCK_EX) < 0)
		err = -errno;
	if (!err)
		err = fill ? open_or_make(s, fill, set_aside) : open_environment(s);
	if (s->lock_fd >= 0)
		flock(s->lock_fd, LOCK_UN);
	return err;
}

int ipam_store_open_or_make(struct ipam_store **out, const char *dir, bool create, const struct ipam_fill *fill,
			    bool *set_aside)
{
	*out = NULL;
	*set_aside = false;
	if (strlen(dir) > PATH_MAX - 32)
		return -ENAMETOOLONG;
	struct ipam_store *s = calloc(1, sizeof *s);
	if (!s || !(s->dir = strdup(dir))) {
		free(s);
		return -ENOMEM;
	}
	s->lock_fd = -1;
	int err = open_under_lock(s, create, fill, set_aside);
	if (err)
		ipam_store_close(s);
	else
		*out = s;
	return err;
}

int ipam_store_open(struct ipam_store **out, const char *dir, bool create)
{
	bool unused;
	return ipam_store_open_or_make(out, dir, create, NULL, &unused);
}

void ipam_store_close(struct ipam_store *s)
{
	if (!s)
		return;
	if (s->env) {
		unlock_bytes(s, 0, 0); /* its work is done: who waits for the workers holds the lock that comes next */
		flock(s->lock_fd, LOCK_EX);
		close_environment(s);
	}
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	free(s->dir);
	free(s);
}

/* --- one worker an owner */

/* Which byte of the lock file stands for an owner. FNV-1a; two owners on one byte only wait for
 * each other. */
static off_t owner_byte(const char *container, const char *ifname)
{
	char key[IPAM_KEY_MAX];
	size_t len = ipam_lease_key(key, NULL, container, ifname);
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)key[i]) * UINT64_C(0x100000001b3);
	return (off_t)(h >> 2);
}

/* Is what we have open what a newcomer would open? */
static bool is_current(const struct ipam_store *s)
{
	char path[PATH_MAX];
	struct stat ours, there;
	int fd;
	path_of(s, "data.mdb", path);
	return mdb_env_get_fd(s->env, &fd) == 0 && fstat(fd, &ours) == 0 && stat(path, &there) == 0 &&
	       ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

int ipam_store_lock_owner(struct ipam_store *s, const char *container, const char *ifname, int64_t wait_ms)
{
	off_t byte = owner_byte(container, ifname);
	int err = lock_bytes(s, byte, 1, wait_ms);
	if (err || is_current(s))
		return err;
	unlock_bytes(s, byte, 1);
	return -ESTALE;
}

void ipam_store_unlock_owner(struct ipam_store *s, const char *container, const char *ifname)
{
	unlock_bytes(s, owner_byte(container, ifname), 1);
}

/* --- reading */

static int get_lease(struct ipam_store *s, MDB_txn *txn, const char *key, size_t len, struct ipam_lease *out)
{
	MDB_val k = val(key, len), v;
	int err = map_error(mdb_get(txn, s->db[DB_LEASES], &k, &v));
	return err ? err : ipam_lease_decode(v.mv_data, v.mv_size, out);
}

int ipam_store_find(struct ipam_store *s, const char *network, const char *container, const char *ifname,
		    struct ipam_lease *out)
{
	char key[IPAM_KEY_MAX];
	size_t len = ipam_lease_key(key, network, container, ifname);
	MDB_txn *txn;
	int err = begin(s, MDB_RDONLY, &txn);
	return err ? err : finish(txn, get_lease(s, txn, key, len, out));
}

static int first_with_start(struct ipam_store *s, MDB_txn *txn, const char *start, size_t len, struct ipam_lease *out)
{
	MDB_cursor *c;
	MDB_val k = val(start, len), v;
	int err = map_error(mdb_cursor_open(txn, s->db[DB_LEASES], &c));
	if (err)
		return err;
	err = map_error(mdb_cursor_get(c, &k, &v, MDB_SET_RANGE));
	if (!err && (k.mv_size < len || memcmp(k.mv_data, start, len) != 0))
		err = ERR_NOT_FOUND;
	if (!err)
		err = ipam_lease_decode(v.mv_data, v.mv_size, out);
	mdb_cursor_close(c);
	return err;
}

int ipam_store_find_owner_any_network(struct ipam_store *s, const char *container, const char *ifname,
				      struct ipam_lease *out)
{
	char key[IPAM_KEY_MAX];
	size_t len = ipam_lease_key(key, NULL, container, ifname);
	MDB_txn *txn;
	int err = begin(s, MDB_RDONLY, &txn);
	return err ? err : finish(txn, first_with_start(s, txn, key, len, out));
}

static int each_lease(MDB_cursor *c, int (*fn)(void *arg, const struct ipam_lease *l), void *arg)
{
	struct ipam_lease l;
	MDB_val k, v;
	int rc;
	while ((rc = mdb_cursor_get(c, &k, &v, MDB_NEXT)) == 0) {
		int err = ipam_lease_decode(v.mv_data, v.mv_size, &l);
		if (!err)
			err = fn(arg, &l);
		if (err)
			return err;
	}
	return rc == MDB_NOTFOUND ? 0 : map_error(rc);
}

int ipam_store_each(struct ipam_store *s, int (*fn)(void *arg, const struct ipam_lease *l), void *arg)
{
	MDB_txn *txn;
	MDB_cursor *c;
	int dead;
	mdb_reader_check(s->env, &dead);
	int err = begin(s, MDB_RDONLY, &txn);
	if (err)
		return err;
	err = map_error(mdb_cursor_open(txn, s->db[DB_LEASES], &c));
	if (!err) {
		err = each_lease(c, fn, arg);
		mdb_cursor_close(c);
	}
	mdb_txn_abort(txn);
	return err;
}

/* --- taking */

static int put_lease(struct ipam_store *s, MDB_txn *txn, const struct ipam_lease *l)
{
	char key[IPAM_KEY_MAX];
	uint8_t bytes[IPAM_LEASE_BYTES_MAX];
	size_t key_len = ipam_lease_key(key, l->network, l->container, l->ifname);
	size_t len = ipam_lease_encode(l, bytes, sizeof bytes);
	MDB_val k = val(key, key_len), v = val(bytes, len);
	return len ? map_error(mdb_put(txn, s->db[DB_LEASES], &k, &v, 0)) : ERR_RANGE;
}

struct address_state {
	uint8_t state; /* 0: never used */
	int64_t freed_at_ms;
};

static int decode_state(const MDB_val *v, struct address_state *out)
{
	const uint8_t *p = v->mv_data;
	*out = (struct address_state){.state = v->mv_size ? p[0] : 0};
	if (out->state == STATE_LEASED)
		return 0;
	if (out->state != STATE_FREED || v->mv_size != 1 + STAMP)
		return ERR_CORRUPT;
	out->freed_at_ms = (int64_t)get_be64(p + 1);
	return 0;
}

static int get_state(struct ipam_store *s, MDB_txn *txn, const struct addr *a, struct address_state *out)
{
	MDB_val k = val(a->b, sizeof a->b), v;
	*out = (struct address_state){0};
	int err = map_error(mdb_get(txn, s->db[DB_ADDRS], &k, &v));
	if (err)
		return err == ERR_NOT_FOUND ? 0 : err;
	return decode_state(&v, out);
}

static void freed_key(uint8_t key[STAMP + 16], int64_t freed_at_ms, const struct addr *a)
{
	put_be64(key, (uint64_t)freed_at_ms);
	memcpy(key + STAMP, a->b, sizeof a->b);
}

static int drop_freed(struct ipam_store *s, MDB_txn *txn, int64_t freed_at_ms, const struct addr *a)
{
	uint8_t key[STAMP + 16];
	freed_key(key, freed_at_ms, a);
	MDB_val k = val(key, sizeof key);
	int err = map_error(mdb_del(txn, s->db[DB_FREED], &k, NULL));
	return err == ERR_NOT_FOUND ? 0 : err;
}

/* The first rested address of the CIDR among those freed from the moment on; they come in order. */
static int find_rested_from(MDB_cursor *c, int64_t from_ms, const struct prefix *cidr, const struct ipam_request *r,
			    struct addr *out)
{
	uint8_t start[STAMP];
	put_be64(start, (uint64_t)from_ms);
	MDB_val k = val(start, sizeof start), v;
	int rc = mdb_cursor_get(c, &k, &v, MDB_SET_RANGE);
	for (; rc == 0; rc = mdb_cursor_get(c, &k, &v, MDB_NEXT)) {
		if (k.mv_size != STAMP + sizeof out->b)
			return ERR_CORRUPT;
		if (!ipam_rested((int64_t)get_be64(k.mv_data), r->now_ms, r->reuse_delay_ms))
			return ERR_NOT_FOUND;
		memcpy(out->b, (const uint8_t *)k.mv_data + STAMP, sizeof out->b);
		if (ipam_range_usable(cidr, out))
			return 0;
	}
	return map_error(rc);
}

static int find_rested(struct ipam_store *s, MDB_txn *txn, const struct prefix *cidr, const struct ipam_request *r,
		       struct addr *out)
{
	MDB_cursor *c;
	int err = map_error(mdb_cursor_open(txn, s->db[DB_FREED], &c));
	if (err)
		return err;
	err = find_rested_from(c, 0, cidr, r, out);
	if (err == ERR_NOT_FOUND) /* then those of a time far ahead: from before a reboot */
		err = find_rested_from(c, r->now_ms + IPAM_CLOCK_SLACK_MS + 1, cidr, r, out);
	mdb_cursor_close(c);
	return err;
}

static void range_key(uint8_t key[17], const struct prefix *cidr)
{
	memcpy(key, cidr->addr.b, 16);
	key[16] = cidr->len;
}

/* The next address of the CIDR that nobody ever had, and moves past it. Addresses that another CIDR
 * (the configuration may have changed) gave out before are passed over: they are leased, or in line. */
static int find_fresh(struct ipam_store *s, MDB_txn *txn, const struct prefix *cidr, struct addr *out)
{
	uint8_t key[17], bytes[STAMP];
	range_key(key, cidr);
	MDB_val k = val(key, sizeof key), v;
	uint64_t next = 0, total = ipam_range_total(cidr);
	int err = map_error(mdb_get(txn, s->db[DB_RANGES], &k, &v));
	if (err && err != ERR_NOT_FOUND)
		return err;
	if (!err && v.mv_size != STAMP)
		return ERR_CORRUPT;
	if (!err)
		next = get_be64(v.mv_data);
	uint64_t before = next;
	struct address_state state = {.state = STATE_LEASED};
	while (next < total && state.state) {
		*out = ipam_range_at(cidr, next++);
		err = get_state(s, txn, out, &state);
		if (err)
			return err;
	}
	if (next != before) {
		put_be64(bytes, next);
		v = val(bytes, sizeof bytes);
		err = map_error(mdb_put(txn, s->db[DB_RANGES], &k, &v, 0));
		if (err)
			return err;
	}
	return state.state ? ERR_NOT_FOUND : 0;
}

static int find_address(struct ipam_store *s, MDB_txn *txn, const struct prefix *cidr, const struct ipam_request *r,
			struct addr *out)
{
	struct address_state state;
	int err = find_fresh(s, txn, cidr, out);
	if (err != ERR_NOT_FOUND)
		return err;
	err = find_rested(s, txn, cidr, r, out);
	if (err)
		return err;
	err = get_state(s, txn, out, &state);
	if (err)
		return err;
	if (state.state != STATE_FREED)
		return ERR_CORRUPT; /* in line and not free: the two tables disagree */
	return drop_freed(s, txn, state.freed_at_ms, out);
}

static int count_range(struct ipam_store *s, MDB_txn *txn, const struct prefix *cidr, const struct ipam_request *r,
		       struct ipam_shortage *out)
{
	MDB_cursor *c;
	MDB_val k = val(cidr->addr.b, 16), v;
	struct address_state state;
	struct addr a;
	*out = (struct ipam_shortage){.cidr = *cidr, .total = ipam_range_total(cidr)};
	int err = map_error(mdb_cursor_open(txn, s->db[DB_ADDRS], &c));
	if (err)
		return err;
	int rc = mdb_cursor_get(c, &k, &v, MDB_SET_RANGE);
	for (; rc == 0 && k.mv_size == sizeof a.b; rc = mdb_cursor_get(c, &k, &v, MDB_NEXT)) {
		memcpy(a.b, k.mv_data, sizeof a.b);
		if (!prefix_has_addr(cidr, &a))
			break;
		err = decode_state(&v, &state);
		if (err)
			break;
		if (state.state == STATE_LEASED)
			out->used++;
		else if (!ipam_rested(state.freed_at_ms, r->now_ms, r->reuse_delay_ms))
			out->resting++;
	}
	mdb_cursor_close(c);
	return err;
}

static int lease_address(struct ipam_store *s, MDB_txn *txn, const struct addr *a, const struct ipam_lease *owner)
{
	char bytes[1 + IPAM_KEY_MAX] = {STATE_LEASED};
	size_t len = ipam_lease_key(bytes + 1, owner->network, owner->container, owner->ifname);
	MDB_val k = val(a->b, sizeof a->b), v = val(bytes, 1 + len);
	return map_error(mdb_put(txn, s->db[DB_ADDRS], &k, &v, 0));
}

static const struct addr *wanted_of(const struct ipam_request *r, bool v4)
{
	for (unsigned i = 0; i < r->wanted->addr_count; i++)
		if (addr_is_v4(&r->wanted->addrs[i]) == v4)
			return &r->wanted->addrs[i];
	return NULL;
}

static bool in_a_cidr(const struct ipam_request *r, const struct addr *a)
{
	for (size_t i = 0; i < r->cidr_count; i++)
		if (ipam_range_usable(&r->cidrs[i], a))
			return true;
	return false;
}

static int take_wanted(struct ipam_store *s, MDB_txn *txn, const struct ipam_request *r, const struct addr *a,
		       struct ipam_lease *l, struct ipam_shortage *shortage)
{
	struct address_state state;
	*shortage = (struct ipam_shortage){.cidr = prefix_make(a, 128)};
	if (!in_a_cidr(r, a))
		return ERR_RANGE;
	int err = get_state(s, txn, a, &state);
	if (!err && state.state == STATE_LEASED)
		err = -EADDRINUSE;
	if (!err && state.state == STATE_FREED)
		err = drop_freed(s, txn, state.freed_at_ms, a);
	if (err)
		return err;
	l->addrs[l->addr_count++] = *a;
	return lease_address(s, txn, a, l);
}

/* One address from the CIDRs of the family, tried in their order, added to the lease. */
static int take_family(struct ipam_store *s, MDB_txn *txn, const struct ipam_request *r, bool v4,
		       struct ipam_lease *l, struct ipam_shortage *shortage)
{
	const struct prefix *last = NULL;
	const struct addr *wanted = wanted_of(r, v4);
	if (wanted)
		return take_wanted(s, txn, r, wanted, l, shortage);
	struct addr *a = &l->addrs[l->addr_count];
	int err = ERR_NOT_FOUND;
	for (size_t i = 0; i < r->cidr_count && err == ERR_NOT_FOUND; i++) {
		if (prefix_is_v4(&r->cidrs[i]) != v4)
			continue;
		last = &r->cidrs[i];
		err = find_address(s, txn, last, r, a);
	}
	if (!last)
		return 0;
	if (err == ERR_NOT_FOUND) {
		err = count_range(s, txn, last, r, shortage);
		/* each that was ever given is either used or rests; if it does not add up, the count of those given is wrong */
		if (!err && shortage->used + shortage->resting < shortage->total)
			err = ERR_CORRUPT;
		return err ? err : ERR_EXHAUSTED;
	}
	if (err)
		return err;
	l->addr_count++;
	return lease_address(s, txn, a, l);
}

static int take(struct ipam_store *s, MDB_txn *txn, const struct ipam_request *r, struct ipam_lease *out,
		struct ipam_shortage *shortage)
{
	char key[IPAM_KEY_MAX];
	size_t len = ipam_lease_key(key, r->wanted->network, r->wanted->container, r->wanted->ifname);
	int err = get_lease(s, txn, key, len, out);
	if (err != ERR_NOT_FOUND)
		return err ? err : ERR_EXISTS;
	*out = *r->wanted;
	out->addr_count = 0;
	err = take_family(s, txn, r, true, out, shortage);
	if (!err)
		err = take_family(s, txn, r, false, out, shortage);
	if (!err && !out->addr_count)
		err = ERR_NOT_READY; /* no CIDR at all */
	return err ? err : put_lease(s, txn, out);
}

int ipam_store_take(struct ipam_store *s, const struct ipam_request *r, struct ipam_lease *out,
		    struct ipam_shortage *shortage)
{
	MDB_txn *txn;
	int err = begin(s, 0, &txn);
	return err ? err : finish(txn, take(s, txn, r, out, shortage));
}

int ipam_store_try(struct ipam_store *s, const struct ipam_request *r, struct ipam_shortage *shortage)
{
	MDB_txn *txn;
	struct ipam_lease ignored;
	int err = begin(s, 0, &txn);
	if (err)
		return err;
	err = take(s, txn, r, &ignored, shortage);
	mdb_txn_abort(txn);
	return err;
}

static int restore(struct ipam_store *s, MDB_txn *txn, const struct ipam_lease *l)
{
	char key[IPAM_KEY_MAX];
	struct ipam_lease there;
	struct address_state state;
	size_t len = ipam_lease_key(key, l->network, l->container, l->ifname);
	int err = get_lease(s, txn, key, len, &there);
	if (err != ERR_NOT_FOUND)
		return err ? err : ERR_EXISTS;
	err = 0;
	for (unsigned i = 0; !err && i < l->addr_count; i++) {
		err = get_state(s, txn, &l->addrs[i], &state);
		if (!err)
			err = state.state ? ERR_EXISTS : lease_address(s, txn, &l->addrs[i], l);
	}
	return err ? err : put_lease(s, txn, l);
}

int ipam_store_restore(struct ipam_store *s, const struct ipam_lease *l)
{
	MDB_txn *txn;
	int err = begin(s, 0, &txn);
	return err ? err : finish(txn, restore(s, txn, l));
}

static int update(struct ipam_store *s, MDB_txn *txn, const struct ipam_lease *l)
{
	char key[IPAM_KEY_MAX];
	struct ipam_lease now;
	size_t len = ipam_lease_key(key, l->network, l->container, l->ifname);
	int err = get_lease(s, txn, key, len, &now);
	if (err)
		return err;
	struct ipam_lease changed = *l;
	memcpy(changed.addrs, now.addrs, sizeof changed.addrs);
	changed.addr_count = now.addr_count;
	return put_lease(s, txn, &changed);
}

int ipam_store_update(struct ipam_store *s, const struct ipam_lease *l)
{
	MDB_txn *txn;
	int err = begin(s, 0, &txn);
	return err ? err : finish(txn, update(s, txn, l));
}

/* --- giving back */

static int free_address(struct ipam_store *s, MDB_txn *txn, const struct addr *a, int64_t now_ms)
{
	uint8_t key[STAMP + 16], state[1 + STAMP] = {STATE_FREED}, one = 1;
	freed_key(key, now_ms, a);
	put_be64(state + 1, (uint64_t)now_ms);
	MDB_val k = val(a->b, sizeof a->b), v = val(state, sizeof state);
	int err = map_error(mdb_put(txn, s->db[DB_ADDRS], &k, &v, 0));
	if (err)
		return err;
	k = val(key, sizeof key);
	v = val(&one, 1);
	return map_error(mdb_put(txn, s->db[DB_FREED], &k, &v, 0));
}

static int release(struct ipam_store *s, MDB_txn *txn, const char *key, size_t len, int64_t now_ms)
{
	struct ipam_lease l;
	int err = get_lease(s, txn, key, len, &l);
	for (unsigned i = 0; !err && i < l.addr_count; i++)
		err = free_address(s, txn, &l.addrs[i], now_ms);
	MDB_val k = val(key, len);
	return err ? err : map_error(mdb_del(txn, s->db[DB_LEASES], &k, NULL));
}

int ipam_store_release(struct ipam_store *s, const char *network, const char *container, const char *ifname,
		       int64_t now_ms)
{
	char key[IPAM_KEY_MAX];
	size_t len = ipam_lease_key(key, network, container, ifname);
	MDB_txn *txn;
	int err = begin(s, 0, &txn);
	return err ? err : finish(txn, release(s, txn, key, len, now_ms < 0 ? 0 : now_ms));
}
