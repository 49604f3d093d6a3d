/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay serve: sessions, recordings and histories in a browser. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/command.h"
#include "fleet/fleet_store.h"
#include "http/http_client.h"
#include "http/http_server.h"
#include "open/input.h"
#include "serve/serve.h"

struct serve_args {
	const char *push, *fleet, *clickhouse, *login, *cpu_price;
	uint64_t push_bytes;
	const char *listen, *token_file, *certificate, *key, *client_ca, *client_crl;
	struct option_list hosts, target_services;
	uint64_t target_samples;
	bool open, behind_proxy;
};

#define FIELD(f) offsetof(struct serve_args, f)
static const struct option_spec serve_options[] = {
	{ 0, "open", NULL, OPT_FLAG, FIELD(open), NULL, "open the page in a browser" },
	{ 'l', "listen", "ADDRESS", OPT_STRING, FIELD(listen), "127.0.0.1:0",
	  "where to listen: PORT, ADDRESS:PORT, [ADDRESS]:PORT, unix:PATH or systemd",
	  "The default is 127.0.0.1 and a free port. Only your user may connect to a "
	  "socket *unix:PATH*; *systemd* is the socket of a unit. An address that other "
	  "machines can reach needs TLS or *--behind-proxy*, and *--token-file* or "
	  "*--client-ca*." },
	{ 0, "token-file", "FILE", OPT_STRING, FIELD(token_file), NULL,
	  "tokens, a line each: ROLE TOKEN [FILTER…]",
	  "A program sends one in the header *Authorization: Bearer TOKEN*; in a browser, "
	  "you enter it. A token has 32 characters or more. *cert:NAME* in its place is the "
	  "client certificate of that common name. The role is *read*, *record* or *admin*. The "
	  "filters limit all its answers, and answers that have no filters are "
	  "refused then. Only you may have the right to read the file." },
	{ 0, "tls-certificate", "FILE", OPT_STRING, FIELD(certificate), NULL,
	  "speak TLS, with this certificate and those of its issuers (PEM)" },
	{ 0, "tls-key", "FILE", OPT_STRING, FIELD(key), NULL, "the key of the certificate (PEM)" },
	{ 0, "client-ca", "FILE", OPT_STRING, FIELD(client_ca), NULL,
	  "let clients in that have a certificate of this CA (PEM)",
	  "Their role is *read*, unless the file of tokens has lines with *cert:*. Then other "
	  "certificates are refused." },
	{ 0, "client-crl", "FILE", OPT_STRING, FIELD(client_crl), NULL,
	  "refuse the certificates that this list of the CA revokes (PEM)",
	  "A changed file is read again at the next request. When the list's next update is over, "
	  "serve refuses all certificates of clients." },
	{ 0, "push", "DIR", OPT_STRING, FIELD(push), NULL,
	  "keep the profiles that programs push in the history at DIR",
	  "Pyroscope's clients and OpenTelemetry's collectors push profiles, with a token of the "
	  "role *record*. The history is made if there is none, and it is one of the sources. "
	  "With *--fleet*, the fleet has them as blocks of the host *pushed*." },
	{ 0, "push-size", "SIZE", OPT_SIZE, FIELD(push_bytes), "1G",
	  "with --push: the most that the history takes, as --max-size of assay retain", NULL,
	  1 << 20, 1e18 },
	{ 0, "fleet", "DIR", OPT_STRING, FIELD(fleet), NULL,
	  "take the blocks that hosts send to the fleet at DIR (assay ship --to https://…)",
	  "Each host needs a token of its own: *assay fleet enroll DIR HOST*. The fleet is made if "
	  "there is none, and it is one of the sources." },
	{ 0, "clickhouse", "URL,…", OPT_STRING, FIELD(clickhouse), NULL,
	  "with --fleet: load the blocks into these servers of ClickHouse, and show their answers",
	  "The URLs are those of *assay fleet init*. If a server is away, its blocks wait in the "
	  "directory. To look at a fleet without loading it, name *clickhouse:URL,…* as a "
	  "source." },
	{ 0, "login", "FILE", OPT_STRING, FIELD(login), NULL,
	  "with --clickhouse: a file with a line USER:PASSWORD, for loading",
	  "Answers use the file in *ASSAY_CLICKHOUSE_LOGIN*, whose user may have the right to read "
	  "alone. Without this variable, they use FILE." },
	{ 0, "target-samples", "N", OPT_U64, FIELD(target_samples), "0",
	  "with --fleet: set the rates of hosts so that a service has N samples an hour",
	  "Counts the samples of the last hour, each hour, as *assay fleet rate --target-samples* "
	  "does. *--target-service* names the services.",
	  0, 1e12 },
	{ 0, "target-service", "GLOB", OPT_LIST, FIELD(target_services), NULL,
	  "with --target-samples: services that have this target (may be repeated)" },
	{ 0, "cpu-price", "PRICE", OPT_STRING, FIELD(cpu_price), NULL,
	  "the price of an hour of a CPU, such as '0.04 EUR': the page shows the cost of "
	  "services" },
	{ 0, "behind-proxy", NULL, OPT_FLAG, FIELD(behind_proxy), NULL,
	  "a proxy speaks TLS for serve, and passes the header Host on" },
	{ 0, "host", "NAME", OPT_LIST, FIELD(hosts), NULL,
	  "a further name that browsers use for this server (may be repeated)" },
};

/*
 * A page that leads to the once-only address. Arguments of programs can be seen by every user, so
 * the browser gets the page's path instead of the address.
 */
static char *write_page_to_open(const char *url)
{
	const char *folder = getenv("XDG_RUNTIME_DIR");
	char *path = xasprintf("%s/assay-XXXXXX.html", folder && *folder ? folder : "/tmp");
	int fd = mkstemps(path, (int)strlen(".html"));

	if (fd < 0) {
		log_warning("cannot write '%s': %s", path, strerror(errno));
		free(path);
		return NULL;
	}
	dprintf(fd, "<!DOCTYPE html><meta http-equiv=\"refresh\" content=\"0; url=%s\">\n", url);
	close(fd);
	return path;
}

/* Runs the desktop's opener, which ends at once, without what serve did to its own signals. */
static void open_browser(const char *path)
{
	pid_t pid = fork();

	if (pid == 0) {
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		signal(SIGPIPE, SIG_DFL);
		setsid();
		if (fork() == 0) {
			execlp("xdg-open", "xdg-open", path, NULL);
			log_warning("cannot run xdg-open. Open the address yourself");
		}
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

struct opening_page {
	bool is_wanted;
	char *path; /* NULL: not written, or not needed any more */
};

static void remove_page(struct opening_page *page)
{
	if (page->path)
		unlink(page->path);
	free(page->path);
	page->path = NULL;
}

static void serve_announce(void *context, const char *place, const char *login_path)
{
	struct opening_page *page = context;
	cleanup(free_at_exit) char *url = xasprintf("%s%s", place, login_path);
	bool is_socket = !strncmp(place, "unix:", 5);

	if (is_socket)
		printf("%s: listening; open the path %s once\n", place, login_path);
	else
		printf("%s\n", url);
	fflush(stdout);
	remove_page(page);
	if (page->is_wanted && !is_socket)
		page->path = write_page_to_open(url);
	if (page->path)
		open_browser(page->path);
	page->is_wanted = false;
}

static int check_clickhouse(const char *urls, struct error *err)
{
	cleanup(free_at_exit) char *list = xstrdup(urls);
	char *rest = list, *url;
	int r = 0;

	while (r >= 0 && (url = strsep(&rest, ",")))
		r = http_url_check(url, err);
	return r;
}

static int check_serve_args(const struct serve_args *args, struct cpu_price *price,
			    struct error *err)
{
	if (!args->certificate != !args->key)
		return error_set(err, -EINVAL, "--tls-certificate and --tls-key go together");
	if (args->clickhouse && !args->fleet)
		return error_set(
			err, -EINVAL,
			"--clickhouse loads the blocks of --fleet DIR; to look at a fleet, "
			"name clickhouse:URL,… as a source");
	if (!args->target_samples != !args->target_services.n)
		return error_set(err, -EINVAL,
				 "--target-samples N and --target-service GLOB go together");
	if (args->target_samples && !args->fleet)
		return error_set(err, -EINVAL, "--target-samples is for the hosts of --fleet DIR");
	if (args->client_ca && !args->certificate)
		return error_set(err, -EINVAL, "--client-ca needs --tls-certificate and --tls-key");
	if (args->client_crl && !args->client_ca)
		return error_set(err, -EINVAL, "--client-crl needs --client-ca");
	if (args->cpu_price && cpu_price_parse(args->cpu_price, price, err) < 0)
		return -EINVAL;
	return args->clickhouse ? check_clickhouse(args->clickhouse, err) : 0;
}

/* Adds a path that may be one of the operands already. */
static size_t add_path(const char **paths, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (path && !strcmp(paths[i], path))
			return n;
	if (path)
		paths[n++] = path;
	return n;
}

/* The operands, the history of pushed profiles, and the fleet. Returns their number. */
static size_t list_paths(const struct serve_args *args, const struct option_list *operands,
			 const char *clickhouse, const char **paths)
{
	size_t n = 0;

	for (size_t i = 0; i < operands->n; i++)
		paths[n++] = operands->data[i];
	n = add_path(paths, n, args->push);
	n = add_path(paths, n, args->fleet);
	n = add_path(paths, n, clickhouse);
	if (!n)
		paths[n++] = DEFAULT_SESSION;
	return n;
}

static int make_push_dir(const char *dir, struct error *err)
{
	cleanup(free_at_exit) char *parts = dir ? xasprintf("%s/samples/current", dir) : NULL;

	return dir ? file_mkdirs(parts, 0777, err) : 0;
}

/* A login that nothing uses is a mistake. */
static int check_login(const struct serve_args *args, const struct option_list *operands,
		       struct error *err)
{
	bool has_clickhouse = args->clickhouse;

	for (size_t i = 0; i < operands->n; i++)
		has_clickhouse |= input_is_clickhouse(operands->data[i]);
	return !args->login || has_clickhouse
		       ? 0
		       : error_set(err, -EINVAL,
				   "--login is for ClickHouse: name its servers by --clickhouse");
}

static int serve_sources(const struct serve_args *args, const struct option_list *operands,
			 const struct cpu_price *price, struct error *err)
{
	struct opening_page page = { .is_wanted = args->open };
	const struct http_tls tls = { args->certificate, args->key, args->client_ca,
				      args->client_crl };
	cleanup(free_at_exit) const char **paths = xcalloc(operands->n + 3, sizeof(*paths));
	cleanup(free_at_exit) char *clickhouse =
		args->clickhouse ? input_of_fleet(args->clickhouse) : NULL;
	const struct serve_options options = {
		.paths = (char *const *)paths,
		.n_paths = list_paths(args, operands, clickhouse, paths),
		.fleet = args->fleet,
		.clickhouse = args->clickhouse,
		.login = args->login,
		.target_services = (char *const *)args->target_services.data,
		.n_target_services = args->target_services.n,
		.target_samples = args->target_samples,
		.cpu_price = *price,
		.push_dir = args->push,
		.push_bytes = args->push_bytes,
		.listen = args->listen,
		.token_file = args->token_file,
		.tls = args->certificate ? &tls : NULL,
		.hosts = (char *const *)args->hosts.data,
		.n_hosts = args->hosts.n,
		.is_behind_proxy = args->behind_proxy,
		.announce = serve_announce,
		.context = &page,
	};
	int r = make_push_dir(args->push, err);

	r = r < 0 || !args->fleet ? r : fleet_make(args->fleet, err);
	if (args->login)
		setenv("ASSAY_CLICKHOUSE_LOGIN", args->login, 0);
	for (size_t i = 0; i < options.n_paths && !r; i++)
		if (!input_is_clickhouse(options.paths[i]) && access(options.paths[i], R_OK) < 0)
			r = error_errno(err, -errno, "cannot read '%s'", options.paths[i]);
	r = r < 0 ? r : serve_run(&options, err);
	remove_page(&page);
	return r;
}

static int serve_command_run(const struct command *self, int argc, char **argv)
{
	struct serve_args args = { 0 };
	struct cpu_price price = { 0 };
	struct option_list operands = { 0 };
	struct error err = { 0 };
	int status = command_begin(self, false, argc, argv, &args, &operands), r;

	if (status < 0) {
		r = check_serve_args(&args, &price, &err);
		r = r < 0 ? r : check_login(&args, &operands, &err);
		status = r < 0 ? EXIT_USAGE : EXIT_OK;
		r = r < 0 ? r : serve_sources(&args, &operands, &price, &err);
		if (r < 0 && status == EXIT_OK)
			status = EXIT_FAILED;
		if (r < 0)
			log_error("serve: %s", err.text);
	}
	option_list_fini(&operands);
	option_list_fini(&args.hosts);
	option_list_fini(&args.target_services);
	return status;
}

static const struct command_section serve_sections[] = {
	{ "ACCESS", "serve prints an address with a token. Each address can be opened once: "
		    "your browser gets a cookie, and serve prints another address for another "
		    "browser. Another user of the machine who can see the port has neither. "
		    "Requests whose headers Host or Origin do not name serve are refused, so "
		    "no page of another site can ask.\n\nTo look from another machine, forward "
		    "the port: *ssh -L 8080:127.0.0.1:8080 HOST*. Then listen at the same "
		    "port, as the header Host has it. Or listen at an address of the network, "
		    "with TLS and tokens. *assay-serve.socket* is a unit of systemd for the "
		    "daemon's history." },
	{ "API", "Programs ask the same API as the page, below /api/v1/. It answers "
		 "with reports, comparisons, pages and the lists of a fleet, and with downloads "
		 "for other tools. docs/api.md lists the answers and their arguments." },
	{ "EXIT STATUS", "0: SIGINT, SIGTERM or SIGHUP ended it. 1: it cannot listen, or a path or "
			 "the file of tokens can't be read. 2: wrong usage." },
	{ NULL },
};

static const struct command_example serve_examples[] = {
	{ "assay serve", "the session in ./assay.data" },
	{ "assay serve night.assay perf.data --open", "two sources, in the browser at once" },
	{ "assay serve night.assay --listen 0.0.0.0:8443 --host lab.example.org --tls-certificate "
	  "cert.pem --tls-key key.pem --token-file tokens",
	  "for other machines: TLS, and a token for each user" },
	{ "assay serve --fleet /srv/fleet --clickhouse http://ch1:8123/fleet,http://ch2:8123/fleet",
	  "a fleet, and its answers from ClickHouse" },
	{ "assay serve /var/lib/assay --listen unix:/run/user/1000/assay.web",
	  "the daemon's history, at a socket" },
	{ NULL },
};

const struct command serve_command = {
	.name = "serve",
	.summary = "show sessions, recordings and histories in a browser",
	.synopsis = "[OPTIONS] [SESSION|FILE|DIR…]",
	.description = "Serves a page over HTTP at an address of this machine. A folder that is "
		       "not a session gives all sessions and recordings in it. Sources that come, "
		       "change or go while serve runs are noticed.\n\nOther runs of assay make "
		       "the answers, so a damaged session cannot harm serve. Answers are kept in "
		       "memory until their source changes.",
	.options = OPTIONS(serve_options),
	.common = "open,listen",
	.sections = serve_sections,
	.examples = serve_examples,
	.run = serve_command_run,
};
