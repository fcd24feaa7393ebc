/*
 * imports.c - see imports.h. A library calls what it imports through a table that the loader fills
 * (ELF gABI, dynamic linking; elf(5)).
 */
#include "os/imports.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#include <dlfcn.h>
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#define RELOCATION_CALL R_X86_64_JUMP_SLOT
#define RELOCATION_ADDRESS R_X86_64_GLOB_DAT
#else
#define RELOCATION_CALL R_AARCH64_JUMP_SLOT
#define RELOCATION_ADDRESS R_AARCH64_GLOB_DAT
#endif

typedef struct tables {
    uintptr_t base;
    const Elf64_Sym *symbols;
    const char *names;
    const Elf64_Rela *calls;
    size_t calls_count;
    const Elf64_Rela *addresses;
    size_t addresses_count;
    uintptr_t sealed_from; /* read-only since it was filled (RELRO) */
    uintptr_t sealed_to;
} tables;

/* glibc stores these as addresses, musl as offsets. */
static uintptr_t absolute(uintptr_t base, Elf64_Addr address) { return address < base ? base + address : address; }

static void read_dynamic(tables *into, const Elf64_Dyn *entry) {
    for (; entry->d_tag != DT_NULL; entry++) {
        uintptr_t address = absolute(into->base, entry->d_un.d_ptr);
        if (entry->d_tag == DT_SYMTAB) into->symbols = (const Elf64_Sym *)address;
        if (entry->d_tag == DT_STRTAB) into->names = (const char *)address;
        if (entry->d_tag == DT_JMPREL) into->calls = (const Elf64_Rela *)address;
        if (entry->d_tag == DT_PLTRELSZ) into->calls_count = entry->d_un.d_val / sizeof(Elf64_Rela);
        if (entry->d_tag == DT_RELA) into->addresses = (const Elf64_Rela *)address;
        if (entry->d_tag == DT_RELASZ) into->addresses_count = entry->d_un.d_val / sizeof(Elf64_Rela);
    }
}

/* Finds the library that contains an address. Its head is mapped first and describes the rest. */
static bool read_library(tables *into, const void *inside) {
    Dl_info info;
    if (dladdr(inside, &info) == 0) return false;
    const Elf64_Ehdr *head = info.dli_fbase;
    const Elf64_Phdr *segment = (const Elf64_Phdr *)((uintptr_t)head + head->e_phoff);
    *into = (tables){.base = (uintptr_t)head};
    for (int i = 0; i < head->e_phnum; i++, segment++) {
        uintptr_t start = into->base + segment->p_vaddr;
        if (segment->p_type == PT_DYNAMIC) read_dynamic(into, (const Elf64_Dyn *)start);
        if (segment->p_type != PT_GNU_RELRO) continue;
        into->sealed_from = start;
        into->sealed_to = start + segment->p_memsz;
    }
    return into->symbols && into->names;
}

static nb_status write_slot(const tables *in, nb_function *slot, nb_function value) {
    uintptr_t page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t page = (uintptr_t)slot & ~(page_size - 1);
    bool sealed = (uintptr_t)slot >= in->sealed_from && (uintptr_t)slot < in->sealed_to;
    if (sealed && mprotect((void *)page, page_size, PROT_READ | PROT_WRITE) != 0) return NB_SYSTEM;
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    if (sealed && mprotect((void *)page, page_size, PROT_READ) != 0) return NB_SYSTEM;
    return NB_OK;
}

static nb_status replace_in(const tables *in, const Elf64_Rela *entry, size_t count, const char *name,
                            nb_function replacement) {
    nb_status status = NB_NOT_FOUND;
    for (size_t i = 0; i < count; i++, entry++) {
        unsigned long type = ELF64_R_TYPE(entry->r_info);
        if (type != RELOCATION_CALL && type != RELOCATION_ADDRESS) continue;
        if (strcmp(in->names + in->symbols[ELF64_R_SYM(entry->r_info)].st_name, name) != 0) continue;
        status = write_slot(in, (nb_function *)(in->base + entry->r_offset), replacement);
        if (status) return status;
    }
    return status;
}

nb_status nb_imports_replace(const char *library, const char *own, const char *name, nb_function replacement,
                             nb_function *original) {
    void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) return NB_NOT_FOUND;
    void *inside = dlsym(handle, own);
    /* The original is not read from the table: in a lazily bound library the entry is a function
       that would overwrite it. */
    nb_function found;
    *(void **)&found = dlsym(handle, name); /* as dlsym(3) says */
    dlclose(handle);
    tables in;
    if (!inside || !found || !read_library(&in, inside)) return NB_NOT_FOUND;
    nb_function before = *original;
    *original = found;
    nb_status calls = replace_in(&in, in.calls, in.calls_count, name, replacement);
    nb_status addresses = replace_in(&in, in.addresses, in.addresses_count, name, replacement);
    if (calls && addresses) *original = before;
    return calls ? addresses : NB_OK;
}

#else

nb_status nb_imports_replace(const char *library, const char *own, const char *name, nb_function replacement,
                             nb_function *original) {
    (void)library;
    (void)own;
    (void)name;
    (void)replacement;
    (void)original;
    return NB_NOT_FOUND;
}

#endif
