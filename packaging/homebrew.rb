# Homebrew formula of sandboxd @VERSION@, made by `make release`.
class Sandboxd < Formula
  desc "Supervisor that runs what AI agents ask for inside a sandbox"
  homepage "@HOMEPAGE@"
  url "@HOMEPAGE@/releases/v@VERSION@/sandboxd-@VERSION@.tar.gz"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on "go" => :build
  depends_on :macos # Linux has the packages, which install what systemd and AppArmor need, too

  def install
    system "make", "build"
    system "make", "install", "PREFIX=#{prefix}"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/sbx version")
  end
end
