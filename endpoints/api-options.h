/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_API_OPTIONS_H
#define ENDPOINTS_API_OPTIONS_H 1

/* The options of the programs at the ends that say where the control plane is,
 * and what its URI says of addresses. */

#include <stdbool.h>

#include "endpoints/address.h"
#include "endpoints/options.h"
#include "lib/ejfat-uri.h"

struct api_options {
    const char *text;     /* As given; NULL for the environment's. */
    const char *ca;       /* Certificates to trust, or NULL. */
    bool insecure;        /* Believe any certificate? */
    bool set;             /* Is there a URI? */
    struct ejfat_uri uri; /* If so, all of it. */
};

/* Rows for the table of options; MEMBER is the struct api_options in the
 * program's configuration TYPE. */
#define API_OPTIONS_ROWS(TYPE, MEMBER)                             \
    { "uri",                                                       \
      "URI",                                                       \
      "The reservation; \"none\" for none (default: $EJFAT_URI)",  \
      options_string,                                              \
      offsetof(struct TYPE, MEMBER.text),                          \
      0,                                                           \
      0 },                                                         \
        { "ca",                                                    \
          "FILE",                                                  \
          "Certificates to trust, with ejfats: (the system's)",    \
          options_string,                                          \
          offsetof(struct TYPE, MEMBER.ca),                        \
          0,                                                       \
          0 },                                                     \
    {                                                              \
        "insecure", NULL,                                          \
            "Believe any certificate, with ejfats:", options_flag, \
            offsetof(struct TYPE, MEMBER.insecure), 0, 0           \
    }

char *api_options_finish(struct api_options *);

bool api_options_get_address(const struct ejfat_endpoint[EJFAT_N_FAMILIES],
                             int family, union address *);

#endif /* endpoints/api-options.h */
