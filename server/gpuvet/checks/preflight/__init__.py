"""Every preflight check, in order; adding one means a file and a line here."""

from gpuvet.checks.preflight.outcome import PreflightCheck
from gpuvet.checks.preflight.p01_capacity_end import P1
from gpuvet.checks.preflight.p02_extension import P2
from gpuvet.checks.preflight.p03_replacement import P3
from gpuvet.checks.preflight.p04_recovery import P4
from gpuvet.checks.preflight.p05_deep_checks import P5
from gpuvet.checks.preflight.p06_fault_sight import P6
from gpuvet.checks.preflight.p07_efa import P7
from gpuvet.checks.preflight.p08_storage import P8
from gpuvet.checks.preflight.p09_idle import P9
from gpuvet.checks.preflight.p10_end_alarm import P10
from gpuvet.checks.preflight.p11_versions import P11
from gpuvet.checks.preflight.p12_nccl import P12
from gpuvet.checks.preflight.p13_management import P13
from gpuvet.checks.preflight.p14_addresses import P14
from gpuvet.checks.preflight.p15_egress import P15
from gpuvet.checks.preflight.p16_bootstrap import P16
from gpuvet.checks.preflight.p17_controller import P17
from gpuvet.checks.preflight.p18_gpu_metrics import P18
from gpuvet.checks.preflight.p19_maintenance import P19
from gpuvet.checks.preflight.p20_spares import P20
from gpuvet.checks.preflight.p21_checkpoint_space import P21
from gpuvet.checks.preflight.p22_credentials import P22
from gpuvet.checks.preflight.p23_endpoints import P23
from gpuvet.checks.preflight.p24_images import P24
from gpuvet.checks.preflight.p25_faults_now import P25
from gpuvet.checks.preflight.p26_zone import P26
from gpuvet.checks.preflight.p27_job_spec import P27
from gpuvet.checks.preflight.p28_keys import P28
from gpuvet.checks.preflight.p29_quotas import P29
from gpuvet.checks.preflight.p30_retention import P30

CHECKS: tuple[PreflightCheck, ...] = (
    *(P1, P2, P3, P4, P5, P6, P7, P8, P9, P10, P11, P12, P13, P14, P15, P16),
    *(P17, P18, P19, P20, P21, P22, P23, P24, P25, P26, P27, P28, P29, P30),
)
