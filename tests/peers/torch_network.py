"""A workload file (plimsoll schema workload) as a PyTorch network, operator by operator.

Written from the definitions in core/workload.hpp, not from our kernels: this is the peer's view.
Activations keep the shapes of the file (images are height x width x channels).
"""

import math

import torch
import torch.nn.functional as F


class Network(torch.nn.Module):
    def __init__(self, workload):
        super().__init__()
        self.operators = workload["operators"]
        self.weights = {}  # by our name: "conv1.weight"
        self.state = {}    # running means of batch norms, by operator

    def set_weight(self, name, value):
        parameter = torch.nn.Parameter(value.clone())
        self.register_parameter(name.replace(".", "/"), parameter)
        self.weights[name] = parameter

    def forward(self, x, labels):
        outputs = {"input": x}
        for operator in self.operators:
            kind = getattr(self, operator["kind"])
            if operator["kind"] == "softmax_cross_entropy":
                return F.cross_entropy(x.flatten(0, -2), labels.flatten().long())
            if operator["kind"] == "add":
                left, right = operator["inputs"]
                x = outputs[left] + outputs[right]
            else:
                x = kind(operator, outputs[operator["input"]] if "input" in operator else x)
            outputs[operator["name"]] = x
        raise ValueError("no loss")

    def weight(self, operator, part="weight"):
        return self.weights.get(f"{operator['name']}.{part}")

    def linear(self, o, x):
        if "tied_to" in o:
            return F.linear(x, self.weights[o["tied_to"] + ".weight"])
        return F.linear(x, self.weight(o), self.weight(o, "bias"))

    def convolution(self, o, x):
        y = F.conv2d(x.permute(0, 3, 1, 2), self.weight(o).permute(0, 3, 1, 2),
                     self.weight(o, "bias"), o.get("stride", 1), o.get("padding", 0), 1,
                     o.get("groups", 1))
        return y.permute(0, 2, 3, 1)

    def max_pool(self, o, x):
        y = F.max_pool2d(x.permute(0, 3, 1, 2), o["kernel"], o.get("stride", o["kernel"]),
                         o.get("padding", 0))
        return y.permute(0, 2, 3, 1)

    def average_pool(self, o, x):
        y = F.avg_pool2d(x.permute(0, 3, 1, 2), o["kernel"], o.get("stride", o["kernel"]),
                         o.get("padding", 0), count_include_pad=False)
        return y.permute(0, 2, 3, 1)

    def batch_norm(self, o, x):
        channels = x.shape[-1]
        mean, variance = self.state.setdefault(
            o["name"], (torch.zeros(channels, dtype=x.dtype), torch.ones(channels, dtype=x.dtype)))
        y = F.batch_norm(x.reshape(-1, channels), mean, variance, self.weight(o),
                         self.weight(o, "bias"), self.training, o.get("momentum", 0.1),
                         o.get("epsilon", 1e-5))
        return y.reshape(x.shape)

    def layer_norm(self, o, x):
        return F.layer_norm(x, x.shape[-1:], self.weight(o), self.weight(o, "bias"),
                            o.get("epsilon", 1e-5))

    def relu(self, _, x):
        return F.relu(x)

    def gelu(self, o, x):
        return F.gelu(x, approximate="none" if o.get("form") == "erf" else "tanh")

    def embedding(self, o, x):
        y = F.embedding(x.long(), self.weight(o))
        return y + self.weight(o, "positions") if o.get("positions", True) else y

    def attention(self, o, x):
        batch, positions, features = x.shape[0], x.shape[1], x.shape[2] // 3
        q, k, v = (part.reshape(batch, positions, o["heads"], -1).transpose(1, 2)
                   for part in x.split(features, dim=2))
        scores = q @ k.transpose(2, 3) / math.sqrt(features // o["heads"])
        if o.get("causal", True):
            later = torch.ones(positions, positions, dtype=torch.bool).triu(1)
            scores = scores.masked_fill(later, float("-inf"))
        return (scores.softmax(3) @ v).transpose(1, 2).reshape(batch, positions, features)

    def flatten(self, _, x):
        return x.reshape(x.shape[0], -1)

    def reshape(self, o, x):
        return x.reshape(x.shape[0], *o["shape"])

    def dropout(self, o, x):
        if o["rate"] > 0 and self.training:
            raise ValueError("dropout draws other random numbers in PyTorch: no parity")
        return x

    def add(self, *_):
        raise NotImplementedError

    def softmax_cross_entropy(self, *_):
        raise NotImplementedError
