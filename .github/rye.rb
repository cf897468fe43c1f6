# A Homebrew formula, to be filled in at a release: the home page, the address of the sdist and the digest that .ci/release prints;
# then `brew update-python-resources rye` adds a resource for each dependency.
class Rye < Formula
  include Language::Python::Virtualenv

  desc "Search engine for registries of signed items"
  homepage "HOMEPAGE"
  url "URL_OF_THE_SDIST"
  sha256 "SHA256_OF_THE_SDIST"
  license "MIT"

  depends_on "rust" => :build # cryptography, rapidfuzz
  depends_on "libyaml"
  depends_on "numpy"
  depends_on "python@3.13"

  def install
    virtualenv_install_with_resources
    generate_completions_from_executable(bin/"rye", "completion", shell_parameter_format: :arg)
  end

  test do
    system bin/"rye", "verify", "--space", "system", "--strict"
  end
end
