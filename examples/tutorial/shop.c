/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program of docs/tutorial.md: it adds up the orders of 300 customers. VERSION 1 is fast.
 * VERSION 2 ignores the case of names, and is slow. VERSION 3 ignores it, too, and is fast again.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#ifndef VERSION
#define VERSION 1
#endif

#define CUSTOMERS 300
#define BUCKETS   1024

struct customer {
	char name[16];
	unsigned long cents;
	struct customer *next;
};

static struct customer customers[CUSTOMERS], *buckets[BUCKETS];

/* FNV-1a. */
__attribute__((noinline)) static unsigned hash_name(const char *name)
{
	unsigned hash = 2166136261u;

#if VERSION == 1
	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
#elif VERSION == 2
	hash = (unsigned)tolower((unsigned char)*name);
#else
	for (; *name; name++)
		hash = (hash ^ (unsigned)tolower((unsigned char)*name)) * 16777619u;
#endif
	return hash % BUCKETS;
}

static int is_same(const char *a, const char *b)
{
#if VERSION == 1
	return strcmp(a, b) == 0;
#else
	return strcasecmp(a, b) == 0;
#endif
}

__attribute__((noinline)) static struct customer *find_customer(const char *name)
{
	struct customer *c = buckets[hash_name(name)];

	while (c && !is_same(c->name, name))
		c = c->next;
	return c;
}

__attribute__((noinline)) static void read_customers(void)
{
	for (unsigned i = 0; i < CUSTOMERS; i++) {
		struct customer *c = &customers[i];
		unsigned bucket;

		snprintf(c->name, sizeof(c->name), "customer%u", i * 7919 % 100000);
		bucket = hash_name(c->name);
		c->next = buckets[bucket];
		buckets[bucket] = c;
	}
}

/* An order is a line such as "customer7919 1250". */
__attribute__((noinline)) static void read_order(const char *line)
{
	char name[sizeof(customers[0].name)];
	size_t n = strcspn(line, " ");

	memcpy(name, line, n);
	name[n] = '\0';
	find_customer(name)->cents += strtoul(line + n, NULL, 10);
}

__attribute__((noinline)) static void read_orders(unsigned n)
{
	unsigned random = 1;

	for (unsigned i = 0; i < n; i++) {
		char line[64];

		random = random * 1103515245u + 12345u;
		snprintf(line, sizeof(line), "%s %u", customers[(random >> 8) % CUSTOMERS].name,
			 random % 10000);
		read_order(line);
	}
}

int main(int argc, char **argv)
{
	unsigned long sum = 0;

	read_customers();
	read_orders(argc > 1 ? (unsigned)atol(argv[1]) : 3000000);
	for (unsigned i = 0; i < CUSTOMERS; i++)
		sum += customers[i].cents;
	printf("%lu.%02lu\n", sum / 100, sum % 100);
	return 0;
}
