/* What the test programs share. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formic.h"

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition,       \
                    fm_error_text());                                                 \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)
#define OK(call) CHECK((call) == FM_OK)

#endif
