/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/http-page.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "controller/api/http-server.h"
#include "controller/core/mem.h"

extern const char http_page_start[];
extern const char http_page_end[];

/* The file, from the top of the project, where the compiler runs. */
__asm__(".pushsection .rodata\n"
        ".global http_page_start, http_page_end\n"
        "http_page_start: .incbin \"web/index.html\"\n"
        "http_page_end: .byte 0\n"
        ".popsection\n");

/* Returns the digest of what is between 'open' and 'close' in the page, as
 * Content-Security-Policy has it, which the caller must free. */
static char *
digest__(const char *open, const char *close)
{
    const char *start = strstr(http_page_start, open);
    const char *end = start ? strstr(start, close) : NULL;
    unsigned char digest[EVP_MAX_MD_SIZE];
    char base64[2 * EVP_MAX_MD_SIZE];
    unsigned int n;

    if (!end) {
        abort();
    }
    start += strlen(open);
    if (!EVP_Digest(start, (size_t) (end - start), digest, &n, EVP_sha256(),
                    NULL)) {
        abort();
    }
    EVP_EncodeBlock((unsigned char *) base64, digest, (int) n);
    return mem_printf("'sha256-%s'", base64);
}

/* Returns the page's policy. */
static const char *
get_policy__(void)
{
    static char *policy;

    if (!policy) {
        char *script = digest__("<script>", "</script>");
        char *style = digest__("<style>", "</style>");

        policy = mem_printf("default-src 'none'; script-src %s; style-src %s; "
                            "connect-src 'self'; img-src data:; "
                            "base-uri 'none'; form-action 'none'; "
                            "frame-ancestors 'none'",
                            script, style);
        free(script);
        free(style);
    }
    return policy;
}

/* Answers 'call' with the page. */
void
http_page_serve(struct http_call *call)
{
    http_call_set_header(call, "Content-Security-Policy", get_policy__());
    http_call_set_header(call, "Referrer-Policy", "no-referrer");
    http_call_set_header(call, "X-Frame-Options", "DENY");
    http_call_reply(call, 200, "text/html; charset=utf-8", http_page_start,
                    (size_t) (http_page_end - http_page_start));
}
