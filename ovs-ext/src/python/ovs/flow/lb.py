# SPDX-License-Identifier: Apache-2.0
"""Decoders for what event load balancing adds to flows.
"""

from ovs.flow.decoders import (
    EthMask,
    IPMask,
    Mask8,
    Mask16,
    Mask64,
    decode_default,
    decode_flag,
    decode_int,
)
from ovs.flow.kv import KVDecoders, nested_kv_decoder


def lb_key_decoders():
    """Decoder of the datapath key lb(...)."""
    return {
        "lb": nested_kv_decoder(
            KVDecoders(
                {
                    "status": Mask8,
                    "version": Mask8,
                    "member": Mask16,
                    "tick": Mask64,
                    "slot_select": Mask16,
                    "port_select": Mask16,
                }
            )
        ),
    }


def lb_forward_decoders():
    """Decoder of lb_forward(...), the same in OpenFlow and datapath."""
    return {
        "lb_forward": nested_kv_decoder(
            KVDecoders(
                {
                    "eth_src": EthMask,
                    "eth_dst": EthMask,
                    "ip_src": IPMask,
                    "ip_dst": IPMask,
                    "base": decode_int,
                    "bits": decode_int,
                    "keep": decode_flag,
                }
            )
        ),
    }


def lb_datapath_decoders():
    """Decoders of the datapath actions."""
    return {
        "lb_parse": decode_flag,
        "lb_calendar": nested_kv_decoder(
            KVDecoders(
                {
                    "bits": decode_int,
                    "xor": decode_int,
                    "members": decode_default,
                }
            )
        ),
        **lb_forward_decoders(),
    }


def lb_openflow_decoders():
    """Decoders of the OpenFlow actions."""
    return {
        "lb_parse": nested_kv_decoder(
            KVDecoders(
                {"table": decode_default, "epoch_table": decode_default}
            )
        ),
        **lb_forward_decoders(),
    }
