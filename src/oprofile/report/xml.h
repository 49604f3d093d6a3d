/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile as XML: OProfile's elements (its schema 3.1), so that what reads `opreport -X` reads
 * this. xml/report.xsd is the schema.
 *
 *	profile
 *	  options setup classes
 *	  binary (count, symbol, module (count, symbol))     an application, and its images
 *	  symboltable (symboldata)
 *	  detailtable (symboldetails (detaildata (count)))   with_details
 *	  bytestable (bytes)                                 with_details: machine code
 *
 * A class is a lane (profile.h): its processor, process and thread are attributes of its element,
 * where OProfile nests processes and threads.
 */
#pragma once

#include <stdio.h>

#include "profile/rows.h"

struct xml_source {
	const struct profile
		*profile;         /* has APP among its class keys, unless libraries are merged */
	const struct rows *graph; /* of profile_callgraph(): with callers and callees; NULL */
	const char *title;
	double min_percent;
	bool by_period, with_symbols, with_details, with_lines;
};

void xml_print(const struct xml_source *source, FILE *out);
