// The module worker of the package: it only wires the runtime to the real agent and to its own message port.
import init, { Agent } from "./direct.js";
import { serve } from "./worker-runtime.js";

serve(self, { init, Agent });
