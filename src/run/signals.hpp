#pragma once
/// TERM, INT and HUP: finish the step, checkpoint, stop; a second one ends at once. USR1: checkpoint now, go on.
/// SIGPIPE and SIGXFSZ are ignored so that EPIPE and EFBIG reach the writer as errors.

namespace gaussflow::run {

void install_signal_handlers();

/// The signal that asked for a stop, 0 when none did.
int stop_signal();

/// True once after each USR1.
bool take_checkpoint_request();

/// "SIGTERM".
const char* signal_name(int signal);

}  // namespace gaussflow::run
