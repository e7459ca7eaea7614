/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_HTTP_PAGE_H
#define EVLB_HTTP_PAGE_H 1

/* The web page, web/index.html, which is part of evlbd.
 *
 * Its one style and its one script are known to browsers by their digests, so
 * that they carry out no other, whatever should get into the page. */

struct http_call;

void http_page_serve(struct http_call *);

#endif /* http-page.h */
