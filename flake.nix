{
  description = "sandboxd: a supervisor that runs what AI agents ask for inside a sandbox";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      each = f: nixpkgs.lib.genAttrs [ "x86_64-linux" "aarch64-linux" ] (system: f nixpkgs.legacyPackages.${system});
      version = nixpkgs.lib.fileContents ./VERSION;
    in
    {
      packages = each (pkgs: {
        default = pkgs.buildGo126Module {
          pname = "sandboxd";
          inherit version;
          src = self;
          # `make release` fails with the hash of today where this is another.
          vendorHash = "sha256-6gpfRq9ekFmOzBfbvZfwasIJd3K2ZMj3E6EkODqR69w=";
          subPackages = [ "cmd/sbx/front" "cmd/sbx" "cmd/sbx/mcp" "cmd/sandboxd" ];
          ldflags = [ "-s" "-w" "-X sandboxd/ipc.Release=${version}" ];
          buildInputs = [ pkgs.libseccomp ];
          # The tests are of the whole tree and need a kernel that permits sandboxes: make test.
          doCheck = false;
          postInstall = ''
            lib=$out/lib/sandboxd
            mkdir -p $lib $out/share/man/man1
            mv $out/bin/sbx $lib/sbx-verbs
            mv $out/bin/front $lib/sbx
            mv $out/bin/mcp $lib/sbx-mcp
            mv $out/bin/sandboxd $lib/sandboxd
            sh cmd/sandboxd-launch/build.sh $lib/sandboxd-launch
            $lib/sbx gen man $out/share/man/man1
            for program in sbx sandboxd; do
              ln -s $lib/$program $out/bin/$program
            done
          '';
          meta = {
            description = "Supervisor that runs what AI agents ask for inside a sandbox";
            license = pkgs.lib.licenses.asl20;
            mainProgram = "sbx";
          };
        };
      });
    };
}
