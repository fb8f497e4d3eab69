/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speaks HTTP, by libcurl.
 * Runs on: the exporter's uploading thread.
 */
#include "exporter/http.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "preload/version.h"

struct http {
	CURL *curl;
	const struct destination *destination;
};

/* More than the answer holds is read, so that its connection can be kept, but
 * not for ever. */
#define READ_MAX_BYTES (1u << 20)

static size_t take_body(char *bytes, size_t size, size_t count, void *context)
{
	struct http_answer *answer = context;
	size_t room = HTTP_BODY_BYTES - 1 - answer->body_bytes;
	size_t take = size * count < room ? size * count : room;

	memcpy(answer->body + answer->body_bytes, bytes, take);
	answer->body_bytes += take;
	answer->body[answer->body_bytes] = '\0';
	answer->read_bytes += size * count;
	return answer->read_bytes <= READ_MAX_BYTES ? size * count : 0;
}

/* Debian's place is compiled into its libcurl; other systems have others. */
static const char *usual_ca_file(void)
{
	static const char *const places[] = {
		"/etc/ssl/certs/ca-certificates.crt",
		"/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
		"/etc/ssl/cert.pem"};

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (access(places[i], R_OK) == 0)
			return places[i];
	}
	return NULL;
}

static void set_trust(CURL *curl, const struct destination *d)
{
	const char *file = d->ca_file ? d->ca_file : usual_ca_file();

	curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
	curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L);
	if (file)
		curl_easy_setopt(curl, CURLOPT_CAINFO, file);
	if (d->ca_path)
		curl_easy_setopt(curl, CURLOPT_CAPATH, d->ca_path);
}

/* curl leaves HTTP_PROXY alone, since a CGI program gets it from the header
 * Proxy of a client. Where there is no CGI it is what people set. */
static void set_proxy(CURL *curl, const struct destination *d)
{
	const char *proxy = getenv("HTTP_PROXY");

	if (d->is_loopback)
		curl_easy_setopt(curl, CURLOPT_PROXY, "");
	else if (proxy && !getenv("http_proxy") && !getenv("REQUEST_METHOD") &&
		 strncasecmp(d->url, "http:", 5) == 0)
		curl_easy_setopt(curl, CURLOPT_PROXY, proxy);
}

static void set_always(struct http *http)
{
	CURL *curl = http->curl;

	/* No signal for time-outs: it would be the process's. */
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "spanprof/" SPANPROF_VERSION);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
	set_trust(curl, http->destination);
	set_proxy(curl, http->destination);
}

static bool add_header(struct curl_slist **list, const char *header)
{
	struct curl_slist *longer = curl_slist_append(*list, header);

	if (longer)
		*list = longer;
	return longer != NULL;
}

/* Expect would cost a round trip and, with some proxies, a second. */
static struct curl_slist *make_headers(const struct http *http,
				       const struct http_request *request)
{
	const char *content_type = request->content_type;
	struct curl_slist *list = NULL;
	char type[128];
	bool good = add_header(&list, "Expect:");

	if (content_type) {
		snprintf(type, sizeof(type), "Content-Type: %s", content_type);
		good = good && add_header(&list, type);
	}
	for (size_t i = 0; good && i < http->destination->header_count; i++)
		good = add_header(&list, http->destination->headers[i]);
	if (good)
		return list;
	curl_slist_free_all(list);
	return NULL;
}

/* Faults that do not pass by themselves. */
static bool is_lasting(CURLcode code)
{
	switch (code) {
	case CURLE_URL_MALFORMAT:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
		return true;
	default:
		return false;
	}
}

static void copy_header(CURL *curl, const char *name, char to[64])
{
	struct curl_header *header;

	if (curl_easy_header(curl, name, 0, CURLH_HEADER, -1, &header) ==
	    CURLHE_OK)
		snprintf(to, 64, "%.63s", header->value);
}

/* The status that decides: the server's, also when its answer broke off behind
 * it, since what it took would arrive twice; or a proxy's that makes no
 * connection. 0: there is none. */
static long find_status(CURL *curl, CURLcode code)
{
	long status = 0;
	long proxys = 0;

	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(curl, CURLINFO_HTTP_CONNECTCODE, &proxys);
	if (code != CURLE_OK && proxys >= 300)
		return proxys;
	return status >= 200 ? status : 0;
}

static void judge(CURL *curl, CURLcode code, struct http_answer *answer)
{
	long status = find_status(curl, code);

	answer->fault = (int)code;
	if (!status) {
		answer->status =
			is_lasting(code) ? HTTP_STATUS_NEVER : HTTP_STATUS_IO;
		if (!answer->error[0])
			snprintf(answer->error, sizeof(answer->error), "%s",
				 curl_easy_strerror(code));
		return;
	}
	answer->status = (int)status;
	copy_header(curl, "Content-Type", answer->content_type);
	copy_header(curl, "Retry-After", answer->retry_after);
}

static void set_request(struct http *http, const struct http_request *request,
			const char *url, struct http_answer *answer)
{
	CURL *curl = http->curl;

	curl_easy_reset(curl); /* connections stay */
	set_always(http);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, answer->error);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, request->timeout_ms);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, request->timeout_ms);
	if (!request->body || request->form_part)
		return;
	curl_easy_setopt(curl, CURLOPT_POST, 1L);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
			 (curl_off_t)request->body_bytes);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body);
}

/* The body as the only file of a form, where one is wanted. Returns false
 * without memory. */
static bool set_form(struct http *http, const struct http_request *request,
		     curl_mime **form)
{
	curl_mimepart *part;

	*form = NULL;
	if (!request->form_part)
		return true;
	*form = curl_mime_init(http->curl);
	part = *form ? curl_mime_addpart(*form) : NULL;
	return part && curl_mime_name(part, request->form_part) == CURLE_OK &&
	       curl_mime_filename(part, request->form_part) == CURLE_OK &&
	       curl_mime_data(part, request->body, request->body_bytes) ==
		       CURLE_OK &&
	       curl_easy_setopt(http->curl, CURLOPT_MIMEPOST, *form) ==
		       CURLE_OK;
}

struct http *http_create(const struct destination *destination)
{
	struct http *http = calloc(1, sizeof(*http));

	_Static_assert(sizeof(((struct http_answer *)0)->error) ==
			       CURL_ERROR_SIZE,
		       "libcurl writes that much");
	if (!http)
		return NULL;
	http->destination = destination;
	if (curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
		http->curl = curl_easy_init();
	if (http->curl)
		return http;
	free(http);
	return NULL;
}

void http_destroy(struct http *http)
{
	if (!http)
		return;
	curl_easy_cleanup(http->curl);
	free(http);
}

void http_do(struct http *http, const struct http_request *request,
	     struct http_answer *answer)
{
	struct curl_slist *headers = make_headers(http, request);
	CURLcode code = CURLE_OUT_OF_MEMORY;
	curl_mime *form = NULL;
	char *url;

	memset(answer, 0, sizeof(*answer));
	if (asprintf(&url, "%s%s", http->destination->url, request->path) < 0)
		url = NULL;
	if (headers && url) {
		set_request(http, request, url, answer);
		curl_easy_setopt(http->curl, CURLOPT_HTTPHEADER, headers);
		if (set_form(http, request, &form))
			code = curl_easy_perform(http->curl);
	}
	judge(http->curl, code, answer);
	/* Pointers of this call stay in the handle until the next one. */
	curl_easy_reset(http->curl);
	curl_mime_free(form);
	curl_slist_free_all(headers);
	free(url);
}
