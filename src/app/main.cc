// SPDX-License-Identifier: Apache-2.0
#include "app/cli.h"

int main(int argc, char** argv) {
  return parley::app::run(parley::app::take_arguments(argc, argv));
}
