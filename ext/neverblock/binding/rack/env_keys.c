/*
 * env_keys.c - see env_keys.h.
 */
#include "binding/rack/env_keys.h"

#include "binding/base/module.h"

struct nb_env_keys nb_env_keys;
VALUE nb_env_field_keys[NB_FIELD_COUNT];

void nb_env_upcase_name(char *out, const char *name, size_t size) {
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)name[i];
        out[i] = (char)(c == '-' ? '_' : (c >= 'a' && c <= 'z') ? c - 32 : c);
    }
}

static VALUE field_key(nb_slice name) {
    char text[5 + NB_ENV_NAME_BYTES_MAX] = "HTTP_";
    nb_env_upcase_name(text + 5, name.data, name.size);
    bool bare = nb_slice_equal(name, NB_SLICE("content-type")) || nb_slice_equal(name, NB_SLICE("content-length"));
    return bare ? nb_constant_string(text + 5, name.size) : nb_constant_string(text, 5 + name.size);
}

void nb_env_keys_init(void) {
    if (nb_env_keys.request_method) return;
#define NB_KEY_INIT(name, text) nb_env_keys.name = nb_constant_string(text, sizeof(text) - 1);
    NB_KEYS(NB_KEY_INIT)
#undef NB_KEY_INIT
    for (int i = 1; i < NB_FIELD_COUNT; i++) {
        nb_env_field_keys[i] = field_key(nb_field_name((nb_field)i));
    }
}
