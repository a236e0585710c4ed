/* files.h for Windows. Paths are UTF-8, as Python passes them. */
#ifndef PB_FILES_WINDOWS_H
#define PB_FILES_WINDOWS_H

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <fcntl.h>
#include <io.h>

enum { PB_MAX_PATH = 4 * 32768 }; /* the longest path, in UTF-8 */

static inline int pb_is_separator(char c) { return c == '\\' || c == '/'; }

static inline wchar_t *pb_wide(const char *path) {
    int n = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, NULL, 0);
    wchar_t *wide = n > 0 ? malloc((size_t)n * sizeof *wide) : NULL;
    if (wide) MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, n);
    else errno = n > 0 ? ENOMEM : ENOENT;
    return wide;
}

static inline void pb_set_errno(void) {
    switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND: errno = ENOENT; break;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION: errno = EACCES; break;
    case ERROR_DISK_FULL: errno = ENOSPC; break;
    default: errno = EIO;
    }
}

/* Opens a file for reading; -1 on error. While we read it, others may write, rename and remove it, as elsewhere. */
static inline int pb_open(const char *path) {
    wchar_t *wide = pb_wide(path);
    if (!wide) return -1;
    HANDLE file = CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                              OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
    free(wide);
    if (file == INVALID_HANDLE_VALUE) {
        pb_set_errno();
        return -1;
    }
    int fd = _open_osfhandle((intptr_t)file, _O_RDONLY | _O_BINARY | _O_NOINHERIT);
    if (fd < 0) CloseHandle(file);
    return fd;
}

/* What an open file is; 0 on error. The same numbers as Python's os.fstat. */
static inline int pb_info_of(int fd, pb_file_info *info) {
    HANDLE file = (HANDLE)_get_osfhandle(fd);
    BY_HANDLE_FILE_INFORMATION found = {0};
    DWORD type = GetFileType(file);
    if (type == FILE_TYPE_DISK && !GetFileInformationByHandle(file, &found)) {
        pb_set_errno();
        return 0;
    }
    /* Since 1601, in units of 100 ns. */
    int64_t modified =
        (int64_t)((uint64_t)found.ftLastWriteTime.dwHighDateTime << 32 | found.ftLastWriteTime.dwLowDateTime);
    *info = (pb_file_info){
        .dev = found.dwVolumeSerialNumber,
        .ino = (uint64_t)found.nFileIndexHigh << 32 | found.nFileIndexLow,
        .size = (uint64_t)found.nFileSizeHigh << 32 | found.nFileSizeLow,
        .mtime_ns = (modified - 116444736000000000) * 100,
        .is_regular = type == FILE_TYPE_DISK && !(found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY),
    };
    return 1;
}

/* The path of an open file, without links; 0 if it cannot be found. */
static inline int pb_path_of(int fd, const pb_file_info *info, const char *path, char real[PB_MAX_PATH]) {
    (void)info, (void)path;
    static const wchar_t PREFIX[] = L"\\\\?\\", SHARE[] = L"\\\\?\\UNC\\";
    wchar_t *wide = malloc(32768 * sizeof *wide);
    if (!wide) return 0;
    DWORD n = GetFinalPathNameByHandleW((HANDLE)_get_osfhandle(fd), wide, 32768, FILE_NAME_NORMALIZED);
    wchar_t *start = wide;
    if (n && n < 32768) {
        if (!wcsncmp(wide, SHARE, 8)) *(start = wide + 6) = L'\\'; /* \\?\UNC\host becomes \\host */
        else if (!wcsncmp(wide, PREFIX, 4)) start = wide + 4;
    }
    int done = n && n < 32768 && WideCharToMultiByte(CP_UTF8, 0, start, -1, real, PB_MAX_PATH, NULL, NULL) > 0;
    free(wide);
    return done;
}

static inline void pb_remove(const char *path) {
    wchar_t *wide = pb_wide(path);
    if (wide) DeleteFileW(wide);
    free(wide);
}

static inline OVERLAPPED pb_at(uint64_t offset) {
    OVERLAPPED at = {0};
    at.Offset = (DWORD)offset;
    at.OffsetHigh = (DWORD)(offset >> 32);
    return at;
}

static inline ssize_t pb_pread(int fd, void *to, size_t n, uint64_t offset) {
    OVERLAPPED at = pb_at(offset);
    DWORD got = 0;
    if (ReadFile((HANDLE)_get_osfhandle(fd), to, n > 1 << 30 ? 1 << 30 : (DWORD)n, &got, &at)) return (ssize_t)got;
    if (GetLastError() == ERROR_HANDLE_EOF) return 0;
    pb_set_errno();
    return -1;
}

static inline ssize_t pb_pwrite(int fd, const void *from, size_t n, uint64_t offset) {
    OVERLAPPED at = pb_at(offset);
    DWORD put = 0;
    if (WriteFile((HANDLE)_get_osfhandle(fd), from, n > 1 << 30 ? 1 << 30 : (DWORD)n, &put, &at)) return (ssize_t)put;
    pb_set_errno();
    return -1;
}

#define close _close
#define write(fd, from, n) _write(fd, from, (unsigned)(n))
#define strdup _strdup

#endif
