# Homebrew formula, filled in by `packages/fill`.
class Codelet < Formula
  desc "Coding agent for the terminal that compacts its own context"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "@URL@/codelet-@VERSION@-aarch64-apple-darwin.tar.gz"
      sha256 "@SHA256 aarch64-apple-darwin@"
    end
    on_intel do
      url "@URL@/codelet-@VERSION@-x86_64-apple-darwin.tar.gz"
      sha256 "@SHA256 x86_64-apple-darwin@"
    end
  end
  on_linux do
    on_arm do
      url "@URL@/codelet-@VERSION@-aarch64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256 aarch64-unknown-linux-musl@"
    end
    on_intel do
      url "@URL@/codelet-@VERSION@-x86_64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256 x86_64-unknown-linux-musl@"
    end
  end

  def install
    bin.install "codelet"
    generate_completions_from_executable(bin/"codelet", "completions")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/codelet --version")
    (testpath/"one.json").write '{"messages":[{"role":"user","content":"hello"}]}'
    system bin/"codelet", "check", "one.json"
  end
end
