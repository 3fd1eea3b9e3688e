/*
 * Names, texts and bands of statuses, and the library's version.
 * Owns nothing; everything comes from the one list UAR_STATUSES, so that a new line there needs no other edit.
 */
#include <uar/base.h>

#define VERSION_TEXT_(number) #number
#define VERSION_TEXT(number) VERSION_TEXT_(number)

const char *uar_version(void) {
    return VERSION_TEXT(UAR_VERSION_MAJOR) "." VERSION_TEXT(UAR_VERSION_MINOR) "." VERSION_TEXT(UAR_VERSION_PATCH);
}

const char *uar_status_name(uar_status status) {
    switch (status) {
#define STATUS_NAME(name, value, band, text) \
    case UAR_##name: return "UAR_" #name;
        UAR_STATUSES(STATUS_NAME)
#undef STATUS_NAME
    }
    return "UAR_E_INTERNAL";
}

const char *uar_status_text(uar_status status) {
    switch (status) {
#define STATUS_TEXT(name, value, band, text) \
    case UAR_##name: return text;
        UAR_STATUSES(STATUS_TEXT)
#undef STATUS_TEXT
    }
    return uar_status_text(UAR_E_INTERNAL);
}

uar_band uar_status_band(uar_status status) {
    switch (status) {
#define STATUS_BAND(name, value, band, text) \
    case UAR_##name: return UAR_BAND_##band;
        UAR_STATUSES(STATUS_BAND)
#undef STATUS_BAND
    }
    return UAR_BAND_FATAL;
}
