#pragma once
/// torch::autograd::grad, from a header that has a CHECK of its own: include this before doctest, whose CHECK then wins.

#include <torch/csrc/autograd/autograd.h>

#undef CHECK
