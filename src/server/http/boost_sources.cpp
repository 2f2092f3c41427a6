// Boost.Asio and Boost.Beast, compiled once: everywhere else their headers only declare.
#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
