{
  description = "A coding agent for the terminal that compacts its own context";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
      manifest = (fromTOML (builtins.readFile ./Cargo.toml)).workspace.package;
    in {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "codelet";
          inherit (manifest) version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          buildType = "dist";
          cargoBuildFlags = [ "-p" "codelet" ];
          # They want a sandbox inside the one that Nix builds in; `.ci/run` has run them.
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          postInstall = ''
            installShellCompletion --cmd codelet \
              --bash <($out/bin/codelet completions bash) \
              --fish <($out/bin/codelet completions fish) \
              --zsh <($out/bin/codelet completions zsh)
          '';
          meta = {
            description = "A coding agent for the terminal that compacts its own context";
            license = with pkgs.lib.licenses; [ mit asl20 ];
            mainProgram = "codelet";
          };
        };
      });
      devShells = each (pkgs: {
        default = pkgs.mkShell { packages = [ pkgs.cargo pkgs.clippy pkgs.rustc pkgs.rustfmt ]; };
      });
    };
}
