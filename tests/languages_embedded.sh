#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The part of languages_check.sh for interpreters within other programs: Apache, php-fpm, uwsgi and gdb. A request makes a server
# run the golden program. Each server has a network of its own, so that its port is free.
# shellcheck disable=SC2154 # assay, chroots, here and work are of languages_check.sh

embedders=(apache2-bin libapache2-mod-php libapache2-mod-wsgi-py3 php-fpm uwsgi-core uwsgi-plugin-python3 gdb)
port=8000

# Prints why the chroot of a release lacks the programs; nothing if it has them. No service of them starts.
add_embedders() {
	local dir=$chroots/$1 log=$work/$1.log file
	for file in bin/uwsgi bin/gdb sbin/apache2 lib/apache2/modules/mod_wsgi.so; do
		[ -e "$dir/usr/$file" ] || break
	done && [ -e "$dir/usr/$file" ] && return
	printf '#!/bin/sh\nexit 101\n' >"$dir/usr/sbin/policy-rc.d"
	chmod +x "$dir/usr/sbin/policy-rc.d"
	# shellcheck disable=SC2016 # the inner shell's
	chroot "$dir" env DEBIAN_FRONTEND=noninteractive sh -c 'apt-get -qo Acquire::Check-Valid-Until=false update
		exec apt-get install -qy --no-install-recommends "$@"' sh "${embedders[@]}" >"$log" 2>&1 </dev/null || tail -1 "$log"
}

# apache_config FILE LINE...: prefork, as mod_php needs it.
apache_config() {
	cat >"$1" <<-END
		ServerRoot /tmp
		ServerName localhost
		Listen 127.0.0.1:$port
		PidFile /tmp/golden-apache.pid
		ErrorLog /tmp/golden-apache.log
		Mutex file:/tmp default
		LoadModule mpm_prefork_module /usr/lib/apache2/modules/mod_mpm_prefork.so
		LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
		User nobody
		DocumentRoot /
	END
	printf '%s\n' "${@:2}" >>"$1"
}

# embedder_configs DIR VERSION: configurations of the servers, in the root of the chroot.
embedder_configs() {
	local module name=php_module
	module=$(cd "$1" && echo usr/lib/apache2/modules/libphp*.so)
	cp "$here/programs/lang/embedded.wsgi" "$1/"
	[[ "$2" = 7.* ]] && name=php7_module
	apache_config "$1/golden-php.conf" "LoadModule $name /$module" 'PHPINIDir /golden-php' \
		'<Files golden.php>' 'SetHandler application/x-httpd-php' '</Files>'
	apache_config "$1/golden-wsgi.conf" 'LoadModule wsgi_module /usr/lib/apache2/modules/mod_wsgi.so' 'WSGIScriptAlias / /embedded.wsgi'
	mkdir -p "$1/golden-php"
	echo 'max_execution_time = 0' >"$1/golden-php/php.ini"
	printf '%s\n' '[global]' 'error_log = /tmp/golden-fpm.log' '[golden]' "listen = 127.0.0.1:$port" 'user = nobody' \
		'pm = static' 'pm.max_children = 1' 'php_admin_value[max_execution_time] = 0' >"$1/golden-fpm.conf"
}

# The first argument is the request, in words. The server's own children are its workers, so the request is none of them.
# shellcheck disable=SC2016 # the inner shell's
with_request=(unshare -m -n sh -c 'ip link set lo up && mount --rbind /proc "$2/proc" && mount --rbind /dev "$2/dev" || exit
	[ -z "$0" ] || ("$1" $0 &)
	shift && exec chroot "$@"')

# Samples of the session from before assay had read an interpreter, or another file of the stack.
n_unread() {
	"$assay" info -i "$work/s" --format json | awk -F: '/"(php|python)-early"|"stack-no-table"/ { n += $2 } END { print n + 0 }'
}

# Sets worker to the process that runs the golden program, when it has run for a second: the server, or its child. While the server
# starts, it has other children, which end.
find_worker() {
	for ((i = 0; i < 600; i++)); do
		worker=$(pgrep -o -P "$program")
		: "${worker:=$program}"
		ran_for "$worker" 1 && [ -e "/proc/$worker" ] && return
		[ -e "/proc/$program" ] || return
		sleep 0.1
	done
	return 1
}

# check_embedded LANGUAGE VERSION RELEASE MODE REQUEST COMMAND...: an interpreter in another program. The words of the request are
# a protocol, a port and a path. Without them, the command runs the golden program itself. Nearly each sample must have its frames.
check_embedded() {
	local worker plain=()
	[[ "$2" =~ ^Python\ 3\.([6-9]|10)\. ]] && plain=(--plain)
	"${with_request[@]}" "$5" "$here/tools/web_request" "$chroots/$3" "${@:6}" >"$work/program.log" 2>&1 &
	program=$!
	if find_worker; then
		record_program "$worker" 5
		judge "$2, $3, $4" "$1" "$2" "$3" "$4" "pid:$worker" "--unread=$(n_unread)" ${plain[@]+"${plain[@]}"}
	else
		say "not ok" "$2, $3, $4: it ended"
		sed 's/^/# /' "$work/program.log"
	fi
	kill -KILL "$worker" "$program" 2>/dev/null
	wait "$program" 2>/dev/null
	program=
	rm -rf "$work/s"
}

# check_embedders RELEASE: each of the programs of a release.
check_embedders() {
	local dir=$chroots/$1 reason php python gdb http="http $port" jit='opcache.jit=tracing'
	reason=$(add_embedders "$1")
	command -v ip >/dev/null || reason="ip (iproute2) is not installed"
	if [ -n "$reason" ]; then
		say ok "embedded interpreters of $1 # SKIP $reason"
		return
	fi
	php=$(chroot "$dir" php /golden.php --version)
	python=$(chroot "$dir" python3 /golden.py --version)
	gdb=$(chroot "$dir" gdb -batch -ex 'python import sys; print("Python %d.%d.%d" % sys.version_info[:3])' 2>/dev/null)
	embedder_configs "$dir" "${php#PHP }"
	check_embedded php "$php" "$1" php-fpm "fastcgi $port /golden.php" "/$(cd "$dir" && echo usr/sbin/php-fpm?.?)" -F -y /golden-fpm.conf
	check_embedded php "$php" "$1" mod_php "$http /golden.php" apache2 -X -f /golden-php.conf
	if [[ "$php" != "PHP 7."* ]]; then
		printf 'opcache.jit_buffer_size = 64M\nopcache.file_update_protection = 0\n%s\n' "$jit" >>"$dir/golden-php/php.ini"
		check_embedded php "$php" "$1" "mod_php, $jit" "$http /golden.php" apache2 -X -f /golden-php.conf
	fi
	check_embedded py "$python" "$1" mod_wsgi "$http /" apache2 -X -f /golden-wsgi.conf
	check_embedded py "$python" "$1" uwsgi "$http /" uwsgi --plugin python3 --master --processes 1 --enable-threads --die-on-term \
		--http-socket "127.0.0.1:$port" --wsgi-file /embedded.wsgi
	check_embedded py "$gdb" "$1" gdb '' gdb -batch -x /golden.py
}
