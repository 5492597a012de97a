# Modules of CPython's own tests, without those for users and groups that are not mapped inside (test_user, test_group, test_extra_groups, test_chown_without_permission).
touch keep; /usr/bin/python3.11 -c 'import test.test_os' || exit
#run
/usr/bin/python3.11 -m test -u none -v -i test_user -i test_group -i test_extra_groups test_subprocess test_pty test_ssl test_socketserver test_tempfile test_shutil test_glob 2>&1 | grep -E '^(FAIL|ERROR): |esult: ' | sort -u
/usr/bin/python3.11 -m test -u none -v -i test_chown_without_permission test_os test_signal test_mmap test_fcntl test_select test_zipfile 2>&1 | grep -E '^(FAIL|ERROR): |esult: ' | sort -u
