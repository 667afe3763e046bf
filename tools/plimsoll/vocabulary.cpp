// One line a word. Units are those of the report; an empty formula: the meaning says it all.

#include "tools/plimsoll/vocabulary.hpp"

namespace plimsoll::tools {
namespace {

constexpr std::string_view kTrainer = "plimsoll train: the reference trainer";
constexpr std::string_view kModel = "plimsoll predict: the analytic model, from a machine report";
constexpr std::string_view kJudge = "plimsoll validate";
constexpr std::string_view kProbe = "probe binaries";
constexpr std::string_view kLoops = "short fixed loops, before, between and after probes and runs";

constexpr Word kWords[] = {
    // What a run reports.
    {"train.step_time", "metric", "s", "time of one optimizer step, one sample a measured step", "",
     kTrainer},
    {"train.loss", "metric", "1", "loss of every step from the first",
     "sum of the losses over the global batch / global batch", kTrainer},
    {"train.test_loss", "metric", "1", "mean loss over the test set, after training", "", kTrainer},
    {"train.accuracy", "metric", "1", "share of the test set classified right, after training", "",
     kTrainer},
    {"train.sample_rate", "metric", "1/s", "training samples a second",
     "global batch / train.step_time", kTrainer},
    {"train.token_rate", "metric", "1/s", "tokens a second, for workloads that have any",
     "global batch x sequence length / train.step_time", kTrainer},
    {"train.flop_rate", "metric", "FLOP/s",
     "operations of the graph a second, forward and backward", "FLOP of a step / train.step_time",
     kTrainer},
    {"train.utilisation", "metric", "1", "share of the devices' measured peak that was used",
     "train.flop_rate / (workers x peak of a device)", kTrainer},
    {"train.perplexity", "metric", "1", "on the test set, of sequences", "exp(train.test_loss)",
     kTrainer},
    {"train.operator.time", "metric", "s", "an operator alone, after training (--operators)", "",
     kTrainer},
    {"train.operator.flop_rate", "metric", "FLOP/s", "the same as a rate",
     "FLOP counted / train.operator.time", kTrainer},
    {"train.peak_memory", "metric", "B", "most memory that the process held", "", kTrainer},
    {"train.bytes_sent", "metric", "B", "bytes a rank sends to others in a step", "", kTrainer},
    {"train.step_noise", "metric", "1", "noise of the step time",
     "half width of the median's interval / median", kTrainer},
    {"train.phase.input", "metric", "s", "waiting for the next batch, a step and rank", "",
     kTrainer},
    {"train.phase.h2d", "metric", "s", "copying the batch to the device; 0 on CPUs", "", kTrainer},
    {"train.phase.forward", "metric", "s", "forward pass, loss included", "", kTrainer},
    {"train.phase.backward", "metric", "s", "backward pass without communication", "", kTrainer},
    {"train.phase.communication_exposed", "metric", "s",
     "gradient exchange that nothing else hides: the step waits for it", "", kTrainer},
    {"train.phase.communication_hidden", "metric", "s",
     "gradient exchange beside the backward pass; not part of the step's length", "", kTrainer},
    {"train.phase.optimizer", "metric", "s", "updating the parameters", "", kTrainer},
    {"train.phase.idle", "metric", "s", "the rest of the step: waiting for other ranks", "",
     kTrainer},
    // What a prediction reports.
    {"predict.step_time", "metric", "s", "predicted time of one optimizer step, with interval",
     "sum of the phases except communication_hidden", kModel},
    {"predict.sample_rate", "metric", "1/s", "predicted training samples a second",
     "global batch / predict.step_time", kModel},
    {"predict.flop_rate", "metric", "FLOP/s", "predicted operations a second",
     "FLOP of a step / predict.step_time", kModel},
    {"predict.utilisation", "metric", "1", "predicted share of the devices' peak",
     "predict.flop_rate / (workers x peak of a device)", kModel},
    {"predict.peak_memory", "metric", "B", "predicted memory of a device",
     "parameters + gradients + momentum + activations + workspace + input", kModel},
    {"predict.phase", "metric", "s", "predicted phases, named as in train.phase", "", kModel},
    // What a validation reports.
    {"validation.error_median", "metric", "1", "median over the cells of |error|",
     "error = (predicted - measured) / measured", kJudge},
    {"validation.error_p90", "metric", "1", "90th percentile over the cells of |error|", "",
     kJudge},
    {"validation.error_max", "metric", "1", "largest |error| of all cells", "", kJudge},
    {"validation.bias", "metric", "1",
     "mean of the signed errors: above zero, predictions are slow", "", kJudge},
    {"validation.coverage", "metric", "1", "share of measurements inside the predicted interval",
     "", kJudge},
    // Loops that tell whether the machine itself moved.
    {"reference.compute_f32.time", "metric", "s", "a fixed amount of f32 arithmetic", "", kLoops},
    {"reference.compute_bf16.time", "metric", "s", "a fixed amount of bf16 arithmetic", "", kLoops},
    {"reference.memory.time", "metric", "s", "a fixed amount of memory traffic", "", kLoops},
    // Findings of probes.
    {"probe.time_out", "finding", "", "cases ended by the time of their level, not by small noise",
     "", kProbe},
    {"probe.max_time", "finding", "", "--max-time ended a probe early: intervals are wider", "",
     kProbe},
    {"probe.reference", "finding", "",
     "the reference loops could not run, or not alike: drift cannot be told", "", kProbe},
    {"memory.cache_levels", "finding", "", "the flat stretches of the latency curve",
     "a stretch ends where a point exceeds 1.3 times its median", "memory.load_latency"},
    {"memory.cache_size", "finding", "",
     "a cache that the machine tells of and the latency curve does not show", "",
     "memory.load_latency"},
    {"memory.cache_limited", "finding", "",
     "the largest working set is below four times the caches: its bandwidth may be theirs", "",
     "memory.stream_bandwidth"},
    {"memory.page_faults", "finding", "", "page faults happened inside timed regions", "",
     "memory.stream_bandwidth"},
    {"storage.no_direct_reads", "finding", "",
     "the file system refuses to bypass the page cache: reads may come from memory", "",
     "storage.read"},
    {"storage.no_io_uring", "finding", "", "io_uring is refused: threads read instead", "",
     "storage.read"},
    // Findings of predictions, runs and validations.
    {"predict.does_not_fit", "finding", "", "the plan needs more memory than a device has", "",
     kModel},
    {"predict.extrapolated", "finding", "", "a shape lies outside what the probes measured", "",
     kModel},
    {"train.cpu_quota", "finding", "", "a control group slowed the run down", "", kTrainer},
    {"train.diverged", "finding", "", "a loss or a weight is not finite", "", kTrainer},
    {"train.checkpoint_corrupt", "finding", "",
     "a checkpoint is cut off or was changed: an older one was used", "", kTrainer},
    {"train.checkpoint_not_written", "finding", "", "a checkpoint could not be written", "",
     kTrainer},
    {"train.resumed_otherwise", "finding", "",
     "a run goes on from a checkpoint with other settings", "", kTrainer},
    {"train.trace_cut", "finding", "", "the timeline ends before the run does", "", kTrainer},
    {"train.interrupted", "finding", "", "the run was stopped: the report is partial", "",
     kTrainer},
    {"train.omp_num_threads", "finding", "", "OMP_NUM_THREADS asks for other threads than the plan",
     "", kTrainer},
    {"train.uneven_shares", "finding", "", "the batch does not divide by the workers", "",
     kTrainer},
    {"validation.cell_failed", "finding", "", "a cell could not be trained or predicted", "",
     kJudge},
    {"validation.timed_out", "finding", "", "a training did not end in time and was stopped", "",
     kJudge},
    {"validation.drift_unknown", "finding", "",
     "runs and machine report have no reference loop with the same work on the same CPUs", "",
     kJudge},
};

}  // namespace

std::span<const Word> vocabulary() { return kWords; }

}  // namespace plimsoll::tools
