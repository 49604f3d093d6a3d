/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/errata.h"

#include <stddef.h>
#include <stdio.h>

enum {
	BROADWELL = PT_ERRATUM_BRANCH_BEFORE_ABORT,
	SKYLAKE = PT_ERRATUM_OVF_IN_CYC | PT_ERRATUM_OVF_WITHOUT_FUP | PT_ERRATUM_FUP_AT_VM_ENTRY |
		  PT_ERRATUM_PGD_WITHOUT_IP,
	ICE_LAKE = PT_ERRATUM_FUP_AT_VM_ENTRY | PT_ERRATUM_PGD_WITHOUT_IP, /* and Skylake servers */
	LATER = PT_ERRATUM_FUP_AT_VM_ENTRY,
	GOLDMONT = PT_ERRATUM_FUP_BEHIND_BRANCH | PT_ERRATUM_FUP_WHILE_OFF,
};

static const struct {
	uint8_t family, model;
	uint32_t errata;
} pt_processors[] = {
	{ 6, 0x3d, BROADWELL }, { 6, 0x47, BROADWELL }, { 6, 0x4f, BROADWELL },
	{ 6, 0x56, BROADWELL }, { 6, 0x4e, SKYLAKE },   { 6, 0x5e, SKYLAKE },
	{ 6, 0x8e, SKYLAKE },   { 6, 0x9e, SKYLAKE },   { 6, 0xa5, SKYLAKE },
	{ 6, 0xa6, SKYLAKE },   { 6, 0x55, ICE_LAKE },  { 6, 0x6a, ICE_LAKE },
	{ 6, 0x6c, ICE_LAKE },  { 6, 0x66, ICE_LAKE },  { 6, 0x7d, ICE_LAKE },
	{ 6, 0x7e, ICE_LAKE },  { 6, 0x8c, ICE_LAKE },  { 6, 0x8d, ICE_LAKE },
	{ 6, 0xa7, ICE_LAKE },  { 6, 0xa8, ICE_LAKE },  { 6, 0x8f, LATER },
	{ 6, 0xcf, LATER },     { 6, 0xad, LATER },     { 6, 0xae, LATER },
	{ 6, 0x97, LATER },     { 6, 0x9a, LATER },     { 6, 0xba, LATER },
	{ 6, 0xb7, LATER },     { 6, 0xbf, LATER },     { 6, 0xc5, LATER },
	{ 6, 0xc6, LATER },     { 6, 0xb5, LATER },     { 6, 0xaa, LATER },
	{ 6, 0xac, LATER },     { 6, 0xbd, LATER },     { 6, 0xcc, LATER },
	{ 6, 0xd5, LATER },     { 18, 0x01, LATER },    { 18, 0x03, LATER },
	{ 19, 0x01, LATER },    { 6, 0x5c, GOLDMONT },  { 6, 0x5f, GOLDMONT },
};

uint32_t pt_errata_of(const char *cpu_id)
{
	unsigned int family, model;

	if (sscanf(cpu_id, "GenuineIntel,%3u,%3u,", &family, &model) != 2)
		return 0;
	for (size_t i = 0; i < sizeof(pt_processors) / sizeof(pt_processors[0]); i++)
		if (pt_processors[i].family == family && pt_processors[i].model == model)
			return pt_processors[i].errata;
	return 0;
}
