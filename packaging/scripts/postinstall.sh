#!/bin/sh
# After unpacking, on install and upgrade. deb: $1 is "configure"; rpm: 1 or 2.
set -e

if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers sandboxd.conf
fi
if command -v systemd-tmpfiles >/dev/null; then
	systemd-tmpfiles --create sandboxd.conf || true
fi
if command -v journalctl >/dev/null; then
	journalctl --update-catalog || true
fi
# Only where the kernel restricts user namespaces by AppArmor, as older parsers do
# not know the rule, and where an earlier version has installed it (preinstall).
# Not where there is no AppArmor, as in a container of such a host, which reads the host's.
profile=/etc/apparmor.d/sandboxd
shipped=/usr/share/sandboxd/apparmor/sandboxd
follows=/var/lib/sandboxd/apparmor-follows
if [ "$(cat /proc/sys/kernel/apparmor_restrict_unprivileged_userns 2>/dev/null)" = 1 ] && [ -d /etc/apparmor.d ] && [ ! -e "$profile" ] || [ -e "$follows" ]; then
	cp "$shipped" "$profile"
	if command -v apparmor_parser >/dev/null; then apparmor_parser -r "$profile" || true; fi
elif [ -e "$profile" ] && ! cmp -s "$profile" "$shipped"; then
	echo "sandboxd: $profile was changed here and is left as it is; this version's is $shipped" >&2
fi
rm -f "$follows"
# Enabled on the first install, also into a tree that is not running (an image),
# and on the first after a removal, which disabled them. Otherwise it is the
# administrator's choice.
sockets="sandboxd.socket sandboxd-approver.socket sandboxd-heads.socket"
removed=/var/lib/sandboxd/removed
if command -v systemctl >/dev/null; then
	if [ "${1-}" = configure ] && [ -z "${2-}" ] || [ "${1-}" = 1 ] || [ -e "$removed" ]; then
		systemctl enable $sockets >/dev/null 2>&1 || true
		systemctl --global enable sandboxd-launcher.socket >/dev/null 2>&1 || true
	fi
fi
rm -f "$removed"
if [ "${1-}" = configure ] && [ -z "${2-}" ] || [ "${1-}" = 1 ]; then
	echo "sandboxd: next: let a user ask and answer, from the next login on:"
	echo "  usermod -aG sandboxd-agents,sandboxd-approvers USER"
	echo "then, as that user: sbx doctor; man sbx"
fi
[ -d /run/systemd/system ] || exit 0

# A key of this machine's own, with which the broker signs what it keeps of users'
# logs. Not into an image, whose copies would share it.
key=/etc/credstore/sandboxd.heads-key
if [ ! -e "$key" ] && [ ! -e /etc/credstore.encrypted/sandboxd.heads-key ]; then
	[ -d /etc/credstore ] || install -d -m 0700 /etc/credstore
	(umask 077 && /usr/bin/sandboxd broker new-key > "$key.new" && mv "$key.new" "$key") || rm -f "$key.new"
fi

# of_user UID ARG...: systemctl of that user's own service manager. It needs no bus.
of_user() {
	of=$1
	shift
	runuser -u "$(id -nu "$of")" -- env XDG_RUNTIME_DIR="/run/user/$of" systemctl --user "$@"
}

systemctl daemon-reload
for s in $sockets; do
	if systemctl is-enabled --quiet "$s"; then systemctl start "$s"; fi
done
# A restart of the broker loses nothing: commands continue under their users'
# daemons, which start the new program when they are idle.
systemctl try-restart sandboxd.service

# Users who are logged in already; later ones get both from user@.service.
for unit in $(systemctl list-units --plain --no-legend --state=active 'user@*.service' | cut -d' ' -f1); do
	uid=${unit#user@}
	uid=${uid%.service}
	install -d -m 0711 -o "$uid" "/run/sandboxd/users/$uid"
	of_user "$uid" daemon-reload || true
	if systemctl --global is-enabled --quiet sandboxd-launcher.socket; then
		of_user "$uid" start sandboxd-launcher.socket || true
	fi
done
