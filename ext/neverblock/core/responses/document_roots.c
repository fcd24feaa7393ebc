/*
 * document_roots.c - see document_roots.h.
 */
#include "responses/document_roots.h"

#include <string.h>

#include "os/descriptors.h"

nb_status nb_document_roots_init(nb_document_roots *roots, uint16_t loops, nb_symlinks symlinks) {
    memset(roots, 0, sizeof(*roots));
    roots->loops = loops;
    roots->symlinks = symlinks;
    return nb_mime_create(&roots->mime);
}

void nb_document_roots_stop(nb_document_roots *roots) {
    nb_workers_destroy(roots->openers);
    roots->openers = NULL;
}

void nb_document_roots_close(nb_document_roots *roots, uint16_t loop) {
    nb_open_files_destroy(roots->files[loop]);
    roots->files[loop] = NULL;
}

void nb_document_roots_deinit(nb_document_roots *roots) {
    nb_document_roots_stop(roots);
    for (uint16_t i = 0; i < roots->loops; i++)
        nb_document_roots_close(roots, i);
    nb_mime_destroy(roots->mime);
    roots->mime = NULL;
}

static nb_status open_loops(nb_document_roots *roots) {
    if (roots->openers) return NB_OK;
    uint32_t share = nb_open_files_share(nb_os_descriptors_max(), roots->loops);
    for (uint16_t i = 0; i < roots->loops; i++) {
        if (roots->files[i]) continue;
        nb_status status = nb_open_files_create(share, roots->mime, &roots->rules, &roots->files[i]);
        if (status != NB_OK) return status;
    }
    return nb_workers_create("nb-open", NB_FILE_OPENERS, NB_FILE_OPENINGS_MAX, &roots->openers);
}

static nb_status add_root(nb_document_roots *roots, const char *path, uint16_t *number) {
    nb_status status = open_loops(roots);
    for (uint16_t i = 0; i < roots->loops && status == NB_OK; i++) {
        status = nb_open_files_add_root(roots->files[i], path, roots->symlinks, i > 0, number);
    }
    return status;
}

static nb_status add_to(nb_document_roots *roots, nb_root_numbers *list, const char *path) {
    uint16_t number = 0;
    if (list->count == NB_OPEN_FILES_ROOTS_MAX) return NB_FULL;
    nb_status status = add_root(roots, path, &number);
    if (status == NB_OK) list->each[list->count++] = number;
    return status;
}

nb_status nb_document_roots_serve(nb_document_roots *roots, const char *path) {
    return add_to(roots, &roots->served, path);
}

nb_status nb_document_roots_allow(nb_document_roots *roots, const char *path) {
    return add_to(roots, &roots->named, path);
}

static void set_name(nb_short_name *name, nb_slice text) {
    name->size = (uint16_t)text.size;
    memcpy(name->text, text.data, text.size);
    name->text[text.size] = '\0';
}

nb_status nb_document_roots_add_accel(nb_document_roots *roots, nb_slice prefix, const char *path) {
    bool fits = prefix.size > 0 && prefix.size <= NB_SHORT_NAME_BYTES_MAX;
    if (!fits || prefix.data[0] != '/' || prefix.data[prefix.size - 1] != '/') return NB_INVALID;
    if (roots->accel_count == NB_OPEN_FILES_ROOTS_MAX) return NB_FULL;
    nb_accel_prefix *accel = &roots->accel[roots->accel_count];
    nb_status status = add_root(roots, path, &accel->root);
    if (status != NB_OK) return status;
    set_name(&accel->prefix, prefix);
    roots->accel_count++;
    return NB_OK;
}

nb_status nb_document_roots_add_index(nb_document_roots *roots, nb_slice name) {
    bool fits = name.size > 0 && name.size <= NB_SHORT_NAME_BYTES_MAX && name.data[0] != '.';
    if (!fits || memchr(name.data, '/', name.size) || memchr(name.data, '\0', name.size)) return NB_INVALID;
    if (roots->index_count == NB_INDEX_FILES_MAX) return NB_FULL;
    set_name(&roots->index[roots->index_count++], name);
    return NB_OK;
}

const nb_accel_prefix *nb_document_roots_find_accel(const nb_document_roots *roots, nb_slice path) {
    const nb_accel_prefix *found = NULL;
    for (uint16_t i = 0; i < roots->accel_count; i++) {
        const nb_accel_prefix *accel = &roots->accel[i];
        if (accel->prefix.size > path.size || memcmp(accel->prefix.text, path.data, accel->prefix.size) != 0) continue;
        if (!found || accel->prefix.size > found->prefix.size) found = accel;
    }
    return found;
}
