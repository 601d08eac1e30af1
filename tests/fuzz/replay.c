/* Runs a fuzz target over its corpus without a fuzzer: every file of the folder named, plus
 * seeded random mutations of each, so that the target is exercised in every build. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { REPLAY_BYTES_MAX = 1 << 20, REPLAY_MUTATIONS = 200 };

static uint64_t replay_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* The target gets an exact-size heap copy, so that a sanitizer sees one byte too far. */
static void replay_run(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL) {
        abort();
    }
    memcpy(copy, data, size);
    (void)LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void replay_mutate(uint8_t *data, size_t size, uint64_t *random)
{
    replay_run(data, size);
    for (int i = 0; i < REPLAY_MUTATIONS && size > 0; i++) {
        size_t at = replay_next(random) % size;
        uint8_t saved = data[at];
        switch (replay_next(random) % 3) {
        case 0:
            data[at] ^= (uint8_t)(1u << (replay_next(random) % 8));
            replay_run(data, size);
            break;
        case 1:
            data[at] = (uint8_t)replay_next(random);
            replay_run(data, size);
            break;
        default:
            replay_run(data, at);
            break;
        }
        data[at] = saved;
    }
}

int main(int argc, char **argv)
{
    static uint8_t data[REPLAY_BYTES_MAX];
    uint64_t random = UINT64_C(0x9e3779b97f4a7c15);
    unsigned files = 0;
    replay_run(data, 0);
    DIR *folder = argc > 1 ? opendir(argv[1]) : NULL;
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        char path[4096];
        (void)snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (file == NULL) {
            continue;
        }
        size_t size = fread(data, 1, sizeof(data), file);
        (void)fclose(file);
        replay_mutate(data, size, &random);
        files++;
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    (void)printf("%u corpus files\n", files);
    if (files == 0) {
        (void)fprintf(stderr, "replay: no corpus in %s\n", argc > 1 ? argv[1] : "(none named)");
        return 1;
    }
    return 0;
}
