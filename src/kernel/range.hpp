#pragma once
/// What a reduction may be asked: the guards, and the automatic choice.

#include "kernel/reductions.hpp"

namespace gaussflow {

/// A decided evaluation, and what was measured to decide it.
struct Plan {
  Choice choice;
  Frame frame;              ///< of the attention reductions
  AttentionPlan attention;  ///< the same
  bool named = false;       ///< an attention reduction was asked for: its sum is checked before it is returned
  std::string doubt{};      ///< why it was not sure beforehand to hold its bound; empty: it was
};

/// Throws UnsupportedError when a named reduction, backend or dtype cannot hold its error bound here.
Plan plan_for(const Operands& operands, const GaussSumOptions& options);

/// How an attention reduction would run, range unseen. Throws UnsupportedError when no backend takes it.
AttentionPlan attention_plan(Reduction reduction, const Operands& operands, const GaussSumOptions& options, bool split);

/// Why an attention reduction cannot hold its error bound on these operands, with the numbers; empty when it can. Splits the
/// coordinates in the plan where a half type needs it.
std::string out_of_range(Reduction reduction, const Operands& operands, const Frame& frame, AttentionPlan& plan,
                         const GaussSumOptions& options);

/// Holds a sum [B, M, C] of a named attention reduction against the reference: all of a small one, 64 rows of a large one.
/// Throws  UnsupportedError with the error that was found.
void check_sum(const Plan& plan, const Tensor& sums, const Operands& operands, const GaussSumOptions& options);

}  // namespace gaussflow
