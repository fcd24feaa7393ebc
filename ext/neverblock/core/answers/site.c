/*
 * site.c - see site.h.
 */
#include "answers/site.h"

#include <string.h>

#include "os/descriptors.h"

nb_status nb_site_init(nb_site *site, uint16_t loops, nb_symlinks symlinks) {
    memset(site, 0, sizeof(*site));
    site->loops = loops;
    site->symlinks = symlinks;
    return nb_mime_create(&site->mime);
}

void nb_site_stop(nb_site *site) {
    nb_workers_destroy(site->openers);
    site->openers = NULL;
}

void nb_site_close(nb_site *site, uint16_t loop) {
    nb_open_files_destroy(site->files[loop]);
    site->files[loop] = NULL;
}

void nb_site_deinit(nb_site *site) {
    nb_site_stop(site);
    for (uint16_t i = 0; i < site->loops; i++)
        nb_site_close(site, i);
    nb_mime_destroy(site->mime);
    site->mime = NULL;
}

static nb_status open_loops(nb_site *site) {
    if (site->openers) return NB_OK;
    uint32_t share = nb_open_files_share(nb_os_descriptors_max(), site->loops);
    for (uint16_t i = 0; i < site->loops; i++) {
        if (site->files[i]) continue;
        nb_status status = nb_open_files_create(share, site->mime, &site->rules, &site->files[i]);
        if (status != NB_OK) return status;
    }
    return nb_workers_create("nb-open", NB_SITE_OPENERS, NB_SITE_OPENINGS_MAX, &site->openers);
}

static nb_status add_root(nb_site *site, const char *path, uint16_t *number) {
    nb_status status = open_loops(site);
    for (uint16_t i = 0; i < site->loops && status == NB_OK; i++) {
        status = nb_open_files_add_root(site->files[i], path, site->symlinks, i > 0, number);
    }
    return status;
}

static nb_status add_to(nb_site *site, nb_site_roots *roots, const char *path) {
    uint16_t number = 0;
    if (roots->count == NB_OPEN_FILES_ROOTS_MAX) return NB_FULL;
    nb_status status = add_root(site, path, &number);
    if (status == NB_OK) roots->each[roots->count++] = number;
    return status;
}

nb_status nb_site_serve(nb_site *site, const char *path) { return add_to(site, &site->served, path); }

nb_status nb_site_name_root(nb_site *site, const char *path) { return add_to(site, &site->named, path); }

static void set_name(nb_site_name *name, nb_slice text) {
    name->size = (uint16_t)text.size;
    memcpy(name->text, text.data, text.size);
    name->text[text.size] = '\0';
}

nb_status nb_site_accelerate(nb_site *site, nb_slice prefix, const char *path) {
    bool fits = prefix.size > 0 && prefix.size <= NB_SITE_NAME_BYTES_MAX;
    if (!fits || prefix.data[0] != '/' || prefix.data[prefix.size - 1] != '/') return NB_INVALID;
    if (site->accel_count == NB_OPEN_FILES_ROOTS_MAX) return NB_FULL;
    nb_site_accel *accel = &site->accel[site->accel_count];
    nb_status status = add_root(site, path, &accel->root);
    if (status != NB_OK) return status;
    set_name(&accel->prefix, prefix);
    site->accel_count++;
    return NB_OK;
}

nb_status nb_site_add_index(nb_site *site, nb_slice name) {
    bool fits = name.size > 0 && name.size <= NB_SITE_NAME_BYTES_MAX && name.data[0] != '.';
    if (!fits || memchr(name.data, '/', name.size) || memchr(name.data, '\0', name.size)) return NB_INVALID;
    if (site->index_count == NB_SITE_INDEX_FILES_MAX) return NB_FULL;
    set_name(&site->index[site->index_count++], name);
    return NB_OK;
}

const nb_site_accel *nb_site_find_accel(const nb_site *site, nb_slice path) {
    const nb_site_accel *found = NULL;
    for (uint16_t i = 0; i < site->accel_count; i++) {
        const nb_site_accel *accel = &site->accel[i];
        if (accel->prefix.size > path.size || memcmp(accel->prefix.text, path.data, accel->prefix.size) != 0) continue;
        if (!found || accel->prefix.size > found->prefix.size) found = accel;
    }
    return found;
}
