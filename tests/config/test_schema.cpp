#include "gaussflow/config/schema.hpp"

#include "config/sample_config.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

TEST_CASE("a short config is complete when resolved") {
  const auto outcome =
      sample::read("flow: mmd\ntarget: {samples: moons.h5:/x}\nparticles: 2000\nstep: {count: 2e3}\nseed: 1\n",
                   {"target.batch=10", "particles.init.normal.mean=[1,-.2]"});
  CHECK(outcome.errors == "");
  CHECK(outcome.json["target"].dump() == R"({"samples":{"file":"moons.h5:/x","batch":10}})");
  CHECK(outcome.json["particles"].dump() == R"({"count":2000,"init":{"normal":{"mean":[1.0,-0.2],"std":[1.0]}}})");
}
