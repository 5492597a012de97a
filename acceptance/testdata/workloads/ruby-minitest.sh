# A Ruby test suite with a server and a child.
cat > m_test.rb <<'T'
require "minitest/autorun"; require "socket"
class M < Minitest::Test
  def test_server
    s = TCPServer.new("127.0.0.1", 0)
    Thread.new { c = s.accept; c.puts "hi"; c.close }
    assert_equal "hi\n", TCPSocket.new("127.0.0.1", s.addr[1]).gets
  end
  def test_child = assert_equal("42\n", `echo 42`)
end
T
#run
ruby m_test.rb --seed 1 | grep runs,
