# A Perl test suite under prove, with a forking server.
mkdir -p t lib && printf 'package M;\nsub answer { 42 }\n1;\n' > lib/M.pm
cat > t/m.t <<'T'
use strict; use warnings; use Test::More; use IO::Socket::INET; use M;
is(M::answer(), 42, 'answer');
my $l = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1') or die $!;
my $pid = fork // die;
unless ($pid) { my $c = $l->accept; print $c "hi\n"; close $c; exit 0 }
my $c = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $l->sockport) or die $!;
is(scalar <$c>, "hi\n", 'served');
waitpid $pid, 0; is($?, 0, 'child'); done_testing;
T
#run
prove -lv t 2>&1 | grep -vE '^Files='
