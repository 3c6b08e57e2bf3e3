// SPDX-License-Identifier: Apache-2.0
#include "net/address.h"

#include <gtest/gtest.h>

namespace parley::net {
namespace {

IpAddress at(std::string_view text) {
  const auto address = IpAddress::parse(text);
  EXPECT_TRUE(address) << text;
  return address.value_or(IpAddress{});
}

// XD-10: what a webhook may reach without being allowed.
TEST(IpAddress, PublicOnesAreToldFromAllOthers) {
  for (const char* text : {"1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.15.0.1",
                           "172.32.0.1", "192.167.1.1", "198.17.1.1", "198.20.0.1",
                           "223.255.255.255", "2606:4700::1111", "2a00:1450:4001:81b::200e",
                           "::ffff:8.8.8.8", "64:ff9b::808:808"}) {
    EXPECT_TRUE(at(text).is_public()) << text;
  }
  for (const char* text :
       {"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200",
        "127.0.0.1", "127.255.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255",
        "192.0.0.8", "192.0.2.1", "192.168.1.1", "198.18.0.1", "198.19.0.1", "224.0.0.1",
        "239.1.1.1", "240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1",
        "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
        "fc00::1", "fd00:ec2::254", "fe80::1", "ff02::1", "2001:db8::1", "2001::1",
        "2002:7f00:1::", "::7f00:1", "64:ff9b:1::1", "3fff::1"}) {
    EXPECT_FALSE(at(text).is_public()) << text;
  }
}

TEST(IpAddress, LoopbackIsOneInEitherVersion) {
  EXPECT_TRUE(at("127.0.0.1").is_loopback());
  EXPECT_TRUE(at("127.9.9.9").is_loopback());
  EXPECT_TRUE(at("::1").is_loopback());
  EXPECT_TRUE(at("::ffff:127.0.0.1").is_loopback());
  EXPECT_FALSE(at("126.0.0.1").is_loopback());
  EXPECT_FALSE(at("::2").is_loopback());
}

TEST(IpAddress, IsWrittenInItsShortForm) {
  EXPECT_EQ(at("::ffff:10.1.2.3").text(), "10.1.2.3");
  EXPECT_EQ(at("0:0:0:0:0:0:0:1").text(), "::1");
  for (const char* text : {"", "localhost", "1.2.3", "1.2.3.4.5", "0x7f.1", "2130706433", "[::1]",
                           "fe80::1%eth0"}) {
    EXPECT_FALSE(IpAddress::parse(text)) << text;
  }
}

TEST(Network, ContainsWhatBeginsAlike) {
  const auto ten = Network::parse("10.0.0.0/8");
  ASSERT_TRUE(ten);
  EXPECT_TRUE(ten->contains(at("10.255.0.1")));
  EXPECT_TRUE(ten->contains(at("::ffff:10.0.0.1")));
  EXPECT_FALSE(ten->contains(at("11.0.0.1")));
  const auto odd = Network::parse("172.16.0.0/12");
  ASSERT_TRUE(odd);
  EXPECT_TRUE(odd->contains(at("172.31.0.1")));
  EXPECT_FALSE(odd->contains(at("172.32.0.1")));
  EXPECT_TRUE(Network::parse("::1")->contains(at("::1")));
  EXPECT_FALSE(Network::parse("::1")->contains(at("::2")));
  EXPECT_TRUE(Network::parse("fd00::/8")->contains(at("fd12::1")));
  EXPECT_TRUE(Network::parse("0.0.0.0/0")->contains(at("1.2.3.4")));
  EXPECT_FALSE(Network::parse("0.0.0.0/0")->contains(at("2a00::1")));
  for (const char* text : {"", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "::/129", "ten/8"}) {
    EXPECT_FALSE(Network::parse(text)) << text;
  }
}

}  // namespace
}  // namespace parley::net
