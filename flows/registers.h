/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_FLOWS_REGISTERS_H
#define EVLB_FLOWS_REGISTERS_H 1

/* The OpenFlow registers that the tables use.
 *
 * What a register holds when a packet recirculates is part of the cached flows
 * behind it, so everything that is not needed there any more is set to 0
 * before lb_parse: the interface is (its VLAN is matched again in the end),
 * the instance is not. */

enum reg {
    REG_IFACE = 0,    /* Interface id, from TABLE_CLASSIFY to TABLE_PARSE. */
    REG_INSTANCE = 1, /* Instance id, from TABLE_L3 on. */
    REG_EPOCH = 2,    /* Epoch id, from the epoch's table to TABLE_CALENDAR. */
    REG_LONG = 3      /* Is it longer than it need be?  In TABLE_ADVERTISE. */
};

#endif /* registers.h */
